"""Checks on personal data, named in the rules. What is slow to import is imported when needed."""

from __future__ import annotations

import ipaddress
import re
from importlib import import_module

from sesstool.privacy.candidate import Candidate
from sesstool.privacy.given_names import GIVEN_NAMES
from sesstool.privacy.number_checks import digits_of
from sesstool.privacy.spelling import fold

# --- mail -------------------------------------------------------------------------------------

_NOBODY = re.compile(
    rb"(?:no[._-]?reply|do[._-]?not[._-]?reply|git|hg|svn|postmaster|mailer-daemon|nobody)"
    rb"(?:[+._-][\w.-]*)?"
    rb"|(?:\d+\+)?(?:copilot|dependabot|renovate|actions|github-actions|claude|web-flow)",
    re.IGNORECASE,
)
# Of the domains that all may have, those of seven letters and more that people have mail at.
_LONG_DOMAINS = frozenset(
    b"""academy account agency archive association attorney barcelona bargains boutique brussels
    builders business capital careers catering center charity christmas cleaning clinic clothing
    college cologne community company computer consulting contractors cooking country coupons
    creditcard cruises dentist diamonds digital directory discount domains education engineer
    engineering enterprises equipment events exchange express finance financial fitness florist
    foundation gallery graphics hamburg healthcare holdings holiday hosting immobilien industries
    institute insurance intern internal international intranet investments kitchen limited
    localdomain management marketing memorial ministry monster network okinawa organic partners
    pharmacy photography photos pictures plumbing productions properties property recipes rentals
    report republican restaurant reviews schule science security services shopping singles
    software solutions storage studio support surgery systems tattoo technology theater training
    university ventures website wedding wtf yokohama""".split()
)
_NO_MAIL = re.compile(
    rb"""(?:.*\.)?(?:
    example\.[a-z.]{2,}|[a-z.-]*\.?example|test|invalid|localhost|gserviceaccount\.com|yourdomain\.\w+|domain\.(?:com|tld)
    |service|socket|target|timer|mount|automount|slice|scope|swap
    |png|jpe?g|gif|svg|webp|ico|js|mjs|cjs|jsx|ts|tsx|json|css|scss|html?|yml|yaml|toml|lock|txt
    |weight|bias|grad|shape|data|dtype|device|whl|gz|tgz|zip|jar|exe|dll|so|dylib|h|hpp|cc|cpp|java|kt|go|rb|php|csproj|patch|conf|log
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_USER_INFO = re.compile(rb"[a-z][a-z0-9+.-]*:\\?/\\?/[^\s/@\"'<>]{0,256}$", re.IGNORECASE)


def email(candidate: Candidate, _: str) -> bool:
    """An address of somebody: not of a robot, not an example, not what else has an @."""
    local, _at, domain = candidate.value.rpartition(b"@")
    if local.isdigit() and domain[:1].isdigit():
        return False
    if _NOBODY.fullmatch(local) or _NO_MAIL.fullmatch(domain) or candidate.before(7) == b"[bot] <":
        return False
    last = domain.rpartition(b".")[2].lower()
    if len(last) > 6 and last.isalpha() and last not in _LONG_DOMAINS:
        return False
    if candidate.before() == b"@" or re.match(rb"\d+x\.|v?\d+\.\d", domain):
        return False  # a package of a scope, an image for dense screens, a version
    if candidate.behind() in (b"(", b"[") and local.replace(b".", b"").isalnum():
        return False  # a product of matrices
    if candidate.before() in (b":", b"/") and candidate.before(7).lower() != b"mailto:":
        return not _USER_INFO.search(candidate.text, max(candidate.start - 300, 0), candidate.start)
    return True


# --- telephone --------------------------------------------------------------------------------

_DATE = re.compile(
    rb"\+?(?:(?:19|20)\d\d[-./ ]\d\d?[-./ ]\d\d?|\d\d?[-./]\d\d?[-./](?:19|20)\d\d)(?!\d)"
)
_QUAD = re.compile(rb"\d{1,3}(?:\.\d{1,3}){3}")
# Numbers of North America that are kept for stories.
_FICTION = re.compile(r"(?:00)?1?(?:\d{3})?55501\d\d")
_CODE_POINTS = re.compile(rb"00\d\d(?:[ .]\d{4})+")
_ORDERED = ("1234567890", "0123456789", "123456789", "12345678", "1234567")


def phone(candidate: Candidate, _: str) -> bool:
    """An international number that can be somebody's."""
    value = candidate.value
    if _DATE.match(value) or _QUAD.fullmatch(value) or _CODE_POINTS.fullmatch(value):
        return False
    if _FICTION.fullmatch(digits_of(value)):
        return False
    phonenumbers = import_module("phonenumbers")
    text = value.decode()
    if text.startswith("00"):
        text = "+" + text[2:]
    try:
        number = phonenumbers.parse(text, None)
    except phonenumbers.NumberParseException:
        return False
    if phonenumbers.is_valid_number(number):
        return True
    # Many that are made up, and some that are new: if they are written as one writes telephones.
    groups = len(re.findall(rb"[ ().-]+\d", value))
    added_line = candidate.before() in (b"", b"\n")
    return groups >= 2 + added_line and bool(phonenumbers.is_possible_number(number))


def phone_digits(candidate: Candidate, _: str) -> bool:
    """The digits of an international number, without its plus sign."""
    if re.match(rb"20\d\d[01]\d[0-3]\d", candidate.value):
        return False
    phonenumbers = import_module("phonenumbers")
    try:
        number = phonenumbers.parse("+" + candidate.value.decode(), None)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_valid_number(number))


def local_phone(candidate: Candidate, argument: str) -> bool:
    """What can be a telephone number where the text says that it is one."""
    value = candidate.value
    found = digits_of(value)
    if not 6 <= len(found) <= 15 or len(set(found)) < 3 or found in _ORDERED:
        return False
    if _FICTION.fullmatch(found):
        return False
    if argument == "grouped" and (len(found) < 9 or value.isdigit()):
        return False
    if _DATE.match(value) or _QUAD.fullmatch(value):
        return False
    return not re.match(rb"[.:%]\d", candidate.behind(2))


# --- addresses of machines --------------------------------------------------------------------

# Name servers that all use, and addresses that stand for any.
_EVERYBODYS = {
    "1.2.3.4",
    "4.3.2.1",
    "5.6.7.8",
    "1.1.1.1",
    "1.0.0.1",
    "8.8.8.8",
    "8.8.4.4",
    "9.9.9.9",
    "208.67.222.222",
}
_PRODUCT = re.compile(rb"(?:^|[\s\"'(;,\\n])[A-Za-z][\w+-]*/$")
_VERSION = re.compile(
    rb"(?:\bv(?:er)?\.?|version\w*|versi[o\xc3]\S*|release|build|revision|\brev|[=~^><]=|[~^])"
    rb"[\s\"':=]*$|[A-Za-z]-v?$",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    rb"\b(?:ip|addr|address|host|client|from|server|peer|remote|x-forwarded-for)\b", re.IGNORECASE
)


def ipv4(candidate: Candidate, argument: str) -> bool:
    """A public address: not a version, an OID, a network or a name server that all use.

    `dashed` takes one with dashes for dots, in the name of a host.
    """
    if argument == "dashed":
        dotted = candidate.value.replace(b"-", b".")
        return ipv4(Candidate(b"host " + dotted, 5, 5 + len(dotted)), "")
    ahead, behind = candidate.before(32), candidate.behind(6)
    if ahead[-1:] == b"." or (behind[:1] == b"." and behind[1:2].isalnum()):
        return False
    if re.match(rb"-(?!\d{1,3}\.)\w", behind):
        return False
    if _VERSION.search(ahead) or (_PRODUCT.search(ahead) and behind[:1] != b":"):
        return False
    text = candidate.value.decode()
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        return False
    if not address.is_global or address.is_multicast or text in _EVERYBODYS:
        return False
    parts = address.packed
    if parts[1] == parts[2] == parts[3] == 0 or (parts[3] == 0 and behind[:1] == b"/"):
        return False
    # Four small numbers are a version rather than an address.
    return max(parts) > 31 or bool(_ADDRESS.search(ahead))


def ipv6(candidate: Candidate, _: str) -> bool:
    """A public address of a machine."""
    try:
        address = ipaddress.IPv6Address(candidate.value.decode())
    except ValueError:
        return False
    if candidate.behind() == b"/" and int(address) & ((1 << 64) - 1) == 0:
        return False
    return address.is_global and not address.is_multicast


def mac(candidate: Candidate, _: str) -> bool:
    """The address of one device: not of a group, none, or of a container."""
    octets = bytes.fromhex(re.sub(rb"[:.-]", b"", candidate.value).decode())
    if candidate.before() in (b":", b"-") or candidate.behind() in (b":", b"-"):
        return False
    return not octets[0] & 1 and octets[:2] != b"\x02\x42" and len(set(octets)) > 2


_PAIR = re.compile(
    rb"lat(?!e|c)[^\n]{1,60}l(?:o?ng?|ong)|l(?:on|ng|ong)[^\n]{1,60}lat(?!e|c)"
    rb"|\d\.\d{4,}[,; ]{1,3}-?\d{1,3}\.\d{4}",
    re.IGNORECASE,
)


def place(candidate: Candidate, _: str) -> bool:
    """A latitude or longitude in degrees, the other one beside it."""
    text, start, end, _key = candidate
    near = text[max(start - 80, 0) : end + 80]
    return 0 < abs(float(candidate.value)) <= 180 and bool(_PAIR.search(near))


# --- people -----------------------------------------------------------------------------------

_USERS_OF_MANY = """
    user users username usr root admin administrator administrador administrateur guest public
    default all nobody none null system service runner runneradmin runners ubuntu debian centos
    fedora alpine arch ec2-user opc azureuser vagrant packer pi node nodejs deno bun app apps
    application appuser docker container vscode codespace codespaces gitpod coder jovyan
    devcontainer workspace sandbox code git gitlab github gitlab-runner jenkins circleci travis
    buildkite build builder buildbot ci cd deploy deployer dev developer devuser test tester
    testuser tests demo example sample you yourname your-name youruser your-user me myuser
    someone somebody current_user x-access-token x-token-auth oauth2 oauth token foo bar baz
    linuxbrew brew homebrew nix nixbld conda miniconda www www-data http httpd nginx apache
    postgres mysql redis mongodb oracle hadoop spark airflow kafka elasticsearch steam daemon
    bin sys adm mail staff wheel sudo everyone domain nogroup tty disk video audio lp backup man
    proxy sshd messagebus syslog uucp games nfs share shared home local lost+found string text
    name login password required optional true false undefined index about dashboard settings
    profile page account help contact search docs api static assets components layout main
    header footer hero posts products owner author defaultuser0 defaultappuser wsiaccount
    containeradministrator containeruser claude codex agent agents assistant bot cloud
    cloudshell-user sagemaker-user kasm-user abc swuser sail laravel rails django flask rust
    golang python java php ruby operator storage super superuser superadmin sa sysadmin support
    info anonymous ftp cron crontab crontabs tabs systemd-network systemd-resolve
    systemd-timesync _apt rootless podman kube core flatcar coreos rocky almalinux cloud-user
    exporter node_exporter mysqld_exporter prometheus grafana staging stage production prod
    and to the for in is it if of or on as at by be with from into when will must may can that
    this which who whose has have are was were not then than files entry record structure field
    fields line named namely return exists existing new same
    photos images img uploads videos avatars cdrom usb bitnami wsl mnt tmp data projects project
    src repo repos work
"""
_SHARED_USERS = frozenset(_USERS_OF_MANY.split())
_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}")
_FILE = re.compile(
    rb".*\.(?:html?|jsx?|tsx?|mjs|vue|svelte|css|scss|less|md|mdx|json|ya?ml|png|svg|jpe?g|py|php|rb"
    rb"|go|txt|xml|aspx?|cs)",
    re.IGNORECASE,
)


def user(candidate: Candidate, _: str) -> bool:
    """A user's name that is a person's: not one that many machines have, no file, no variable."""
    name = candidate.value.lower().strip(b".")
    if candidate.before() in (b"$", b"%", b"{", b"<") or candidate.behind() in (b"(", b"{"):
        return False
    if name.startswith((b"your", b"svc_", b"svc-", b"xxx", b"<", b"%")) or not re.search(
        rb"[a-z\x80-\xff]", name
    ):
        return False
    if _UUID.fullmatch(name):
        return False
    if _FILE.fullmatch(name) and candidate.behind() not in (b"/", b"\\"):
        return False
    return name.decode("utf-8", "replace") not in _SHARED_USERS


def login(candidate: Candidate, _: str) -> bool:
    """A login that somebody has: of a first name, capitalised, or of few letters and a number.

    What stands beside a password is as often the name of a program.
    """
    name = candidate.value.decode("utf-8", "replace")
    return (
        re.split(r"[^a-z]", fold(name))[0] in GIVEN_NAMES
        or re.fullmatch(r"[A-Z][a-z]+|[a-z]{1,4}[0-9]{3,8}", name) is not None
    ) and candidate.value not in _TYPES


_TYPES = frozenset(
    b"User String Any None Null Str Int Bool Text Host Value Field Column Option Optional List"
    b" Dict Literal Required Varchar Secret Env Input Name Login Password int32 int64 utf8".split()
)


def route(candidate: Candidate, _: str) -> bool:
    """A folder under /home that a path leads to from the root, and not the route of a site."""
    ahead = candidate.text[max(candidate.start - 200, 0) : candidate.start]
    line = ahead[max(ahead.rfind(b"\n"), ahead.rfind(b'"'), ahead.rfind(b" ")) + 1 :]
    return not re.search(rb"https?:", line)


_COMMON_FOLDERS = frozenset(
    b"code src source projects project proyectos projetos projekte projets work workspace "
    b"workspaces repos repo git github dev develop development desktop documents downloads "
    b"documentos escritorio descargas dokumente app apps go tmp temp test tests build lib bin "
    b"onedrive dropbox sites www public config claude codex library appdata local library".split()
)


def slug(candidate: Candidate, _: str) -> bool:
    """The user's part of a folder name that stands for a path; of two words none is a folder."""
    first, _dash, second = candidate.value.lower().partition(b"-")
    return (
        second not in _COMMON_FOLDERS
        and first.decode("utf-8", "replace") not in _SHARED_USERS
        and user(candidate, "")
    )


_OTHER_WORDS = """
    string str text name names number integer boolean bool char varchar column field fields type
    first last full middle given family surname required optional none null true false undefined
    nan object array any void schema model user users username customer client contact author
    admin administrator unknown anonymous test example sample demo default placeholder title
    value world there team all everyone folks sir madam codex copilot chatgpt gpt openai
    anthropic github gitlab google microsoft amazon apple facebook meta dependabot renovate bot
    assistant agent system service services support interface guide guides guidelines manual
    documentation docs api sdk http https json xml html css sql url uri id uuid component page
    view controller handler factory provider manager server request response error exception
    function class method module package library framework project repository repo branch commit
    merge pull issue release version update add fix remove create delete build setup config
    settings please enter your you my the this that these those it its is are was were be an a
    and or not no yes ok in on of for to from with by as at we i he she they here what when
    where how why if then else let use using see note new old el la los las un una por para con
    que en es si desarrollo development production staging windows linux macos mac docker
    kubernetes react vue angular node python java javascript typescript rust golang ruby rails
    django spring input output credentials secret secrets token key keys password email mail
    phone address date time day monday tuesday wednesday thursday friday saturday sunday january
    february march july september october november december department company inc ltd llc corp
    corporation gmbh foundation contributors authors committee university institute software
    group org organization association sincerely regards thanks hello hi dear developers
    customers clients colleagues friends community readers recruiter señores compañeros equipo
    mundo welt monde mondo todos todas tous alle root ca global authority certificate trust
    sans serif mono monospace courier helvetica arial roboto verdana times nimbus
    encrypt i'm it's i'll i've i'd let's that's here's what's don't
"""
_NO_NAMES = frozenset(_OTHER_WORDS.split())
# Words of that kind that are first names too.
_NO_NAMES_ALONE = frozenset(
    ("claude", "gemini", "april", "may", "june", "august", "mark", "will", "sol")
)
_NAME_END = re.compile(rb"[(\[=_`/.]|\.[A-Za-z]|:(?!mai)[A-Za-z]")


def person(candidate: Candidate, argument: str) -> bool:
    """A person's name: words with a capital each, none of which says that it is something else.

    `line` asks that nothing follows but what ends a value, `cell` the same of a cell.
    """
    words = candidate.value.decode("utf-8", "replace").replace(",", " ").split()
    if not words:
        return False
    lower = [word.rstrip(".").lower() for word in words]
    if any(word in _NO_NAMES for word in lower if len(word) > 2) or (
        len(words) == 1 and lower[0] in _NO_NAMES | _NO_NAMES_ALONE
    ):
        return False
    if any(
        re.search(r"[a-z][A-Z]", re.sub(r"^(?:Mc|Mac|De|Di|Da|Le|La|O')", "", w)) for w in words
    ):
        return False
    if len(words) == 1 and (len(words[0]) < 3 or words[0].isupper()):
        return False
    if any(1 < len(w) < 5 and w.isupper() for w in words) and not all(w.isupper() for w in words):
        return False
    behind = candidate.behind(4)
    if argument == "cell" and not re.match(rb" *(?:$|[\r\n\"',;|\t]|  )", behind):
        return False
    if argument == "line" and not re.match(rb" *(?:$|[\r\n\"',;<)\]}|\\`&#])|  |\t", behind):
        return False
    return not _NAME_END.match(behind) or (behind[:1] == b"." and not behind[1:2].isalpha())


_ROBOT = re.compile(
    rb"[\s\"'\\:,(]*<?(?:mailto:)?(?:no-?reply|[\w.+-]*\[bot\]|action@github)", re.IGNORECASE
)


def not_robot(candidate: Candidate, _: str) -> bool:
    """Not the name of a robot or an agent that commits."""
    name = candidate.value.lower()
    if re.search(rb"\bbot\b|\[bot|copilot|codex|dependabot|renovate|actions|^your ", name):
        return False
    if re.fullmatch(rb"claude(?: (?:code|opus|sonnet|haiku|fable)?[\d. ]*)?", name):
        return False
    if name in (b"root", b"user", b"test", b"github", b"gemini", b"you", b"author name"):
        return False
    return bool(re.search(rb"[A-Za-z\x80-\xff]{2}", name)) and not _ROBOT.match(
        candidate.behind(24)
    )


_CONTACT = re.compile(
    rb"@[A-Za-z0-9-]+\.[a-z]|(?:(?<!head)(?<!micro)phone|mobile|tel[e\xc3]|celular|birth|nacim|nascim|geburt|naissance"
    rb"|nascita|dob\b|ssn|\bdni\b|\bnif\b|\bcpf\b|\bcurp\b|\brfc\b|\bcuit\b|\brut\b|cedula|passport|address|direcci|endere|adresse"
    rb"|anschrift|indirizzo|surname|last_?name|apellido|sobrenome|nachname|cognome|e-?mail)[\w-]*[\"'\\]*\s*[:=,|\t>]",
    re.IGNORECASE,
)


_NAME_OF_THING = re.compile(
    rb"(?:upstream|package|project|product|file|host|font|app|class|module|repo|table|column|tool)"
    rb"[_ -]?name\W{1,12}$",
    re.IGNORECASE,
)


def given_name(candidate: Candidate, _: str) -> bool:
    """A name that begins with a common first name, or has it behind a comma."""
    first, _comma, last = candidate.value.decode("utf-8", "replace").partition(",")
    words = [*last.split(), *first.split()]
    return re.split("['-]", fold(words[0]))[0] in GIVEN_NAMES


def beside_contact(candidate: Candidate, _: str) -> bool:
    """In the object, or within a few lines, of a mail address, a telephone or the like."""
    text, start, end, _key = candidate
    if _NAME_OF_THING.search(candidate.before(40)):
        return False
    if b" " not in candidate.value:
        # A single word is a name beside a mail address at most: a first name, or one in it.
        near = text[max(start - 80, 0) : end + 80]
        mail = re.search(rb"([\w.+-]*)@[A-Za-z0-9-]+\.[a-z]", near)
        name = fold(candidate.value.decode("utf-8", "replace"))
        return mail is not None and (
            name in GIVEN_NAMES or name in mail[1].decode("utf-8", "replace").lower()
        )
    left = text.rfind(b"{", max(start - 300, 0), start)
    left = max(left, text.rfind(b"}", max(start - 300, 0), start), start - 300, 0)
    right = min((n for n in (text.find(b"}", end, end + 300), end + 300) if n >= 0), default=end)
    return bool(_CONTACT.search(text, left, right))


_STREET = re.compile(
    r"\b(?:calle|c/|avda?|avenida|av|plaza|paseo|camino|carrera|cra|calzada|colonia|rua|travessa"
    r"|praça|alameda|estrada|largo|rodovia|residencial|vale|rue|allée|impasse|chemin|quai|via|viale"
    r"|piazza|corso|vicolo|p\.? ?o\.? ?box|apdo|postfach)\b"
    r"|\w+(?:straße|strasse|str\.|weg|platz|allee|gasse)\b",
    re.IGNORECASE,
)


# Where foundations and companies have their seat: it stands in many a licence.
_PUBLIC = re.compile(
    r"(?:51 franklin st|59 temple pl|675 mass(?:achusetts)? ave|31 milk st|171 second st"
    r"|1600 amphitheatre|1 infinite loop|1 apple park|1 microsoft way)",
    re.IGNORECASE,
)


def address(candidate: Candidate, argument: str) -> bool:
    """What can be a postal address: words and a number, or the name of a kind of street."""
    text = candidate.value.decode("utf-8", "replace")
    if re.search(r"@|://|0x|[{}=<>()\[\]$_]|\d\.\d+\.\d|[a-z]:\d|::", text):
        return False
    if _PUBLIC.match(text):
        return False
    words = [w for w in re.findall(r"[^\W\d_]{2,}", text) if w[0].isupper()]
    if not words or " " not in text or text.casefold().startswith(("this ", "the ", "a ", "an ")):
        return False
    kind = _STREET.match(text) if argument == "prose" else _STREET.search(text)
    return bool(kind or re.search(r"\d", text))


def birthday(candidate: Candidate, _: str) -> bool:
    """A date that a living person can be born at."""
    found = re.search(rb"(?:19|20)\d\d", candidate.value)
    return found is not None and 1900 <= int(found[0]) <= 2030


CHECKS = {
    "address": address,
    "beside-contact": beside_contact,
    "birthday": birthday,
    "email": email,
    "given-name": given_name,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "local-phone": local_phone,
    "login": login,
    "mac": mac,
    "not-robot": not_robot,
    "person": person,
    "phone": phone,
    "phone-digits": phone_digits,
    "place": place,
    "route": route,
    "slug": slug,
    "user": user,
}
