"""What a page's values are on the other releases, and in runs that change one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compile_in_practice import ledger, record, variant
from compile_in_practice.failure import Failure
from compile_in_practice.page import page_name
from compile_in_practice.recorded import recorded_digest
from compile_in_practice.store import read_json
from compile_in_practice.values import Group, Scope, ValueNameError
from compile_in_practice.variant import NAMES, TITLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from compile_in_practice.ledger import Ledger, Measured
    from compile_in_practice.page import Page
    from compile_in_practice.project import Project
    from compile_in_practice.variant import Variant

Names = dict[str, Any]
LONGEST = 60


def read_variants(project: Project, torch: str) -> dict[str, Ledger]:
    """Return what each variant gives on a release, where that was measured.

    Values of other settings than the project announces today are left out.
    """
    return {
        one.name: found
        for one, found, changes in _ledgers(project, torch)
        if changes == one.changes
    }


def left_out(project: Project, torch: str, measured: Iterable[Measured]) -> list[Failure]:
    """Return what is wrong with each variant's ledger of a release that is not shown whole."""
    sources = {item.name: item.source for item in measured}
    found_wrong = []
    for one, found, changes in _ledgers(project, torch):
        other = [n for n, held in found.items() if sources.get(n, held["source"]) != held["source"]]
        if changes != one.changes:
            what = f"it was made with other settings than {one.changes}, so nothing of it is shown"
        elif other:
            what = f"{len(other)} of its fences had other code, so what they gave is not shown"
        else:
            continue
        where = f"docs/ledger/{one.name}/{torch}.json:1"
        remedy = f"nox -s drift -- {torch} --variant {one.name} --accept {torch}"
        found_wrong.append(Failure(where=where, what=what, remedy=remedy))
    return found_wrong


def _ledgers(project: Project, torch: str) -> Iterator[tuple[Variant, Ledger, Any]]:
    for name in NAMES:
        if name == "next" and not project.announced:
            continue
        one = variant.read_variant(project, name)
        found = ledger.read_ledgers(one.ledger(project)).get(torch)
        if found is not None:
            told = read_json(one.ledger(project) / f"{torch}.json") or {}
            yield one, found, told.get("changes")


class Abroad:
    """The values of every other release, as this build's pages name them.

    A value counts only where the ledger holds the very same source of its fence.
    """

    def __init__(
        self, project: Project, torch: str, here: dict[str, str], measured: Iterable[Measured]
    ) -> None:
        self.measured = list(measured)
        self.here = here
        ledgers = ledger.read_ledgers(project.ledger)
        self.releases = [*ledgers]
        self.titles = {name: variant.told(project, name) for name in NAMES}
        places = {**ledgers, **read_variants(project, torch)}
        self.known = {place: self._names(one) for place, one in places.items() if place != torch}
        self.records = {r: record.load_fences(r, project.records) for r in project.releases}

    def _names(self, known: Ledger) -> Names:
        """Return the values that a ledger has of this build's sources, by page and fence."""
        names: Names = {}
        for item in self.measured:
            if known.get(item.name, {}).get("source") == item.source:
                page, _, fence = item.name.partition(".")
                values = {v: ledger.stored(known, item.name, v, self.here) for v in item.values}
                found = {v: value for v, value in values.items() if value is not ledger.MISSING}
                names.setdefault(page, {})[fence] = _nested(found) if page == "lab" else found
        return names

    def teller(self, page: Page, here: Scope) -> Callable[[str], list[list[str]]]:
        """Return what tells where the value of a role on a page is what else."""
        scopes = self._scopes(page)

        def others(text: str) -> list[list[str]]:
            shown = here.show(text)
            by_text: dict[str, list[str]] = {}
            for place, scope in scopes.items():
                try:
                    other = scope.show(text)
                except ValueNameError:  # it has another shape there, or was not measured
                    named = scope.named(text)
                    other = _unshown(named) if named else shown
                if other != shown:
                    by_text.setdefault(other, []).append(place)
            return [[self.where(places), other] for other, places in by_text.items()]

        return others

    def _scopes(self, page: Page) -> dict[str, Scope]:
        """Return what the names on a page mean on each other release and in each variant."""
        name = page_name(page.name)
        found = {}
        for place, names in self.known.items():
            own = dict(names.get(name, {}))
            for fence in page.fences:
                entry = self.records.get(place, {}).get(recorded_digest(fence))
                if fence.record is not None and entry is not None:
                    own[fence.name] = entry["values"]
            found[place] = Scope(names=Group.of({**names, name: own, **own}), guesses=False)
        return found

    def elsewhere(self, fence: str, values: dict[str, Any]) -> dict[str, list[list[str]]]:
        """Return for each value of a fence that is another elsewhere, where it is what."""
        page, _, own = fence.partition(".")
        found = {}
        for name, here in values.items():
            by_text: dict[str, list[str]] = {}
            for place, names in self.known.items():
                known = names.get(page, {}).get(own, {})
                if name in known and ledger.differ(known[name], here):
                    by_text.setdefault(_plain(known[name], here), []).append(place)
            if by_text:
                found[name] = [[self.where(places), text] for text, places in by_text.items()]
        return found

    def where(self, places: list[str]) -> str:
        """Return places as a sentence names them."""
        releases = [place for place in places if place not in TITLES]
        told = [f"on torch {ledger.grouped(releases, self.releases)}"] if releases else []
        told += [self.titles[place] for place in places if place in TITLES]
        return ", ".join(told)


def _plain(value: Any, here: Any) -> str:
    """Return a value as the line below a fence shows it, a long one where it differs."""
    if not isinstance(value, str | list | dict):
        return str(value)
    text = ledger.cut(str(value), str(here), LONGEST)
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _unshown(named: list[Any]) -> str:
    """Return what to tell of values of which a role shows a part, or which it writes its own way.

    >>> _unshown([[]]), _unshown([None, 2])
    ('[]', 'otherwise')
    """
    return ledger.cut(str(named[0]), "", LONGEST) if len(named) == 1 else "otherwise"


def _nested(values: dict[str, Any]) -> dict[str, Any]:
    """Return a lab's values, whose names hold dots, as the groups that they name."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        inner = found
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    return found
