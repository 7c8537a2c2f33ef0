"""Checks that tell the names of people, and of their accounts, from what stands where one could."""

from __future__ import annotations

import re

from sesstool.privacy.candidate import Candidate
from sesstool.privacy.given_names import GIVEN_NAMES
from sesstool.privacy.spelling import fold

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


CHECKS = {
    "beside-contact": beside_contact,
    "given-name": given_name,
    "login": login,
    "not-robot": not_robot,
    "person": person,
    "route": route,
    "slug": slug,
    "user": user,
}
