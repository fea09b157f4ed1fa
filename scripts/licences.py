"""The licences of everything that is installed because of evenkeel: one line a package, its version and its own words.

python scripts/licences.py            # what `pip install evenkeel` brings
python scripts/licences.py report tune  # with these extras
"""

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement


def needed(name: str, extras: set[str], found: dict[str, Distribution]) -> None:
    """All that a package requires, itself included, into `found`."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return  # for another platform, or an extra that is not installed
    found[name.lower()] = package
    for text in package.requires or ():
        rule = Requirement(text)
        wanted = rule.marker is None or any(rule.marker.evaluate({"extra": extra}) for extra in extras | {""})
        if wanted and rule.name.lower() not in found:
            needed(rule.name, set(rule.extras), found)


def licence(package: Distribution) -> str:
    """What a package says of its licence: the SPDX expression, else its classifiers, else its text's first line."""
    facts = package.metadata
    if expression := facts.get("License-Expression"):
        return expression
    said = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier") or () if c.startswith("License ::")]
    return ", ".join(said) or (facts.get("License") or "not stated").strip().splitlines()[0][:60]


def main() -> None:
    """Print the table."""
    found: dict[str, Distribution] = {}
    needed("evenkeel", set(sys.argv[1:]), found)
    for name, package in sorted(found.items()):
        sys.stdout.write(f"{name:28} {package.version:16} {licence(package)}\n")


if __name__ == "__main__":
    main()
