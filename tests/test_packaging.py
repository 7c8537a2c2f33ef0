"""The wheel: what is in it, and that it works away from the checkout."""

import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import sesstool
from sesstool.formats import schemas

ROOT = Path(__file__).parents[1]
SCRIPT = """
import sys
sys.path[:0] = sys.argv[1:]
import sesstool
from sesstool.formats.schemas import names, schema_text
assert sesstool.__file__.startswith(sys.argv[1]), sesstool.__file__
for name in names():
    print(name, len(schema_text(name)))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that a user gets, made of this checkout without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    options = ["--no-index", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, *options, str(ROOT)], check=True)
    (path,) = folder.glob("*.whl")
    return path


_SHIPPED = (".j2", ".py", ".tcss", ".toml", ".typed")


def test_the_wheel_holds_the_package_and_the_schemas_and_nothing_else(wheel):
    """Each file of the package and of schemas/ is inside; no test, sample or document is."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {p for p in (ROOT / "sesstool").rglob("*") if p.suffix in _SHIPPED}
    expected = {str(p.relative_to(ROOT)) for p in package}
    expected |= {f"sesstool/{p.relative_to(ROOT)}" for p in (ROOT / "schemas").rglob("*.json")}
    assert inside == expected
    assert "sesstool/py.typed" in inside


def test_the_wheel_reads_its_own_schemas(wheel, tmp_path):
    """With the unpacked wheel alone every schema is found, and is the one of the checkout."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    # -S leaves out the path file that would lead to the checkout; what sesstool needs stands
    # in the folders of the running interpreter, put behind the wheel by name.
    needed = [p for p in sys.path if p and Path(p).name in ("site-packages", "dist-packages")]
    command = [sys.executable, "-I", "-S", str(tmp_path / "script.py"), str(tmp_path), *needed]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    lines = [f"{name} {len(schemas.schema_text(name))}" for name in schemas.names()]
    assert done.stdout.splitlines() == lines


def test_the_metadata_tells_the_command_and_the_version(wheel):
    """The wheel installs `sesstool`, and its version is that of the package."""
    with zipfile.ZipFile(wheel) as archive:
        (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        entry = archive.read(f"{info}/entry_points.txt").decode()
        about = archive.read(f"{info}/METADATA").decode()
        (licence,) = [n for n in archive.namelist() if n.startswith(f"{info}/licenses/")]
    assert "sesstool = sesstool.cli.main:main" in entry
    assert f"\nVersion: {sesstool.__version__}\n" in about
    assert "\nRequires-Python: >=3.11\n" in about
    assert licence.endswith("/LICENSE")


def test_the_installed_version_is_that_of_the_package():
    """An old installation beside a newer checkout is noticed."""
    assert metadata.version("sesstool") == sesstool.__version__
