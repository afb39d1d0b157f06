"""Packs a binary that is built already and the package beside it into a wheel, as maturin does: `pack.py BINARY FOLDER`.

For builders that make the binary elsewhere (another profile, another machine) and must not make it twice.
"""

import base64
import hashlib
import re
import sys
import sysconfig
import zipfile
from pathlib import Path
from platform import machine

ROOT = Path(__file__).resolve().parent.parent
EXECUTABLE, PLAIN = 0o755, 0o644


def main(binary, folder):
    version = re.search(r'^version = "([^"]+)"', (ROOT.parent / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    description = re.search(r'^description = "([^"]+)"', project, re.MULTILINE)[1]
    requires = re.search(r'^requires-python = "([^"]+)"', project, re.MULTILINE)[1]
    extras = re.findall(r'^(\w+) = \["(\w+)"\]', project.split("[project.optional-dependencies]")[1], re.MULTILINE)
    stem, tag = f"regatta_eval-{version}", f"py3-none-{platform(Path(binary).read_bytes())}"
    metadata = [
        "Metadata-Version: 2.1", "Name: regatta-eval", f"Version: {version}", f"Summary: {description}", "License: Apache-2.0",
        f"Requires-Python: {requires}",
    ]
    for extra, package in extras:
        metadata += [f"Provides-Extra: {extra}", f"Requires-Dist: {package} ; extra == '{extra}'"]
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted((ROOT / "regatta").glob("*.py"))}
    files[f"{stem}.data/scripts/regatta"] = Path(binary).read_bytes()
    files[f"{stem}.dist-info/METADATA"] = "\n".join([*metadata, "", ""]).encode()
    files[f"{stem}.dist-info/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: regatta\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{stem}.dist-info/RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n".encode()
    Path(folder).mkdir(parents=True, exist_ok=True)
    wheel = Path(folder) / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # One date for all, so that the same files make the same wheel.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | (EXECUTABLE if "/scripts/" in name else PLAIN)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    print(wheel)


def platform(binary):
    """The platform tag of `binary`, as PEP 600 names it: of which version of glibc its symbols are, the newest counts."""
    # An interpreter for two processors says so; the binary is for one.
    name = re.sub(r"[-.]", "_", sysconfig.get_platform().replace("universal2", machine()))
    versions = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=\0)", binary)]
    return name.replace("linux_", f"manylinux_2_{max(versions)}_") if versions else name


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: pack.py BINARY FOLDER")
    main(*sys.argv[1:])
