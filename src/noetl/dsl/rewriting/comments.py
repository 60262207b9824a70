"""What was said beside a key or an item goes where that key or item goes.

A slot of the new outline takes the lead of the old slot whose place it takes, and what stood behind the value it
holds. A comment whose slot is gone goes to what that slot held, else to what stood beside it, else to what it stood
in: none is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several

from noetl.dsl.nodes import AnyNode, Entry, Mapping, Sequence
from noetl.dsl.rewriting.pairing import Pairing
from noetl.dsl.rewriting.parts import Part, Slot


class Comments:
    """Where the comments of an outline go when its slots are taken apart and put together anew."""

    def __init__(self, pairing: Pairing, old: Part, root: AnyNode) -> None:
        self.pairing = pairing
        self.old = old
        self.present: set[int] = set()  # nodes that are still in the tree
        self.claimed: set[int] = set()  # old slots that a slot of the tree takes the place of
        self.placed: dict[int, Slot] = {}  # old slot → where it is now
        self.led: set[int] = set()  # old slots whose lead will be written,
        self.worded: set[int] = set()  # and whose other comments will be;
        self.footed: set[int] = set()  # old collections whose feet will be
        self.lined: set[int] = set()  # new slots that have a line of their own, where a comment can stand above them
        self.look(root)

    def look(self, node: AnyNode) -> None:
        """See what is left of the old tree."""
        self.present.add(id(node))
        children = (
            node.entries.values() if isinstance(node, Mapping) else node.items if isinstance(node, Sequence) else ()
        )
        for child in children:
            base = self.pairing.slots.get(id(child))
            if base:
                self.claimed.add(id(base))
            self.look(child.value if isinstance(child, Entry) else child)

    def dress(self, made: Slot, base: Slot | None, node: AnyNode) -> None:
        """Give a slot the comments of the one whose place it takes, and of the one its value comes from."""
        home = self.pairing.homes.get(id(node))
        source = base or (home if home and id(home) not in self.claimed else None)
        if source and id(source) not in self.led:
            self.led.add(id(source))
            self.placed[id(source)] = made
            made.start = source.start
            made.lead = list(source.lead) if base else [line for line in source.lead if line.strip()]
        if home:
            self.say(made, home, is_home=base is home)
        if base and base is not home and self.pairing.values.get(id(base)) not in self.present:
            self.say(made, base, is_home=True)
        if base and base is home:
            made.offset = base.offset

    def say(self, made: Slot, source: Slot, *, is_home: bool) -> None:
        """What stood behind an old slot's key or value goes behind this one's."""
        if id(source) in self.worded:
            return
        self.worded.add(id(source))
        self.placed.setdefault(id(source), made)
        comment = source.note or comment_only(source.tail)
        if made.value.is_block:
            made.extra += [line.strip() for line in source.inner]
            self.say_beside_block(made, comment, is_home=is_home)
        elif source.value.is_block or made.tail or made.note:
            made.tail, made.extra = (
                made.tail or comment,
                made.extra + ([comment.strip()] if made.tail and comment else []),
            )
        else:
            made.note, made.inner, made.tail = source.note, source.inner, source.tail
            made.gap = source.gap if is_home else " "

    def say_beside_block(self, made: Slot, comment: str, *, is_home: bool) -> None:
        first = made.value.slots[0]
        if comment and not made.note and (made.key or is_home):
            made.note = comment
        elif comment and first.is_new and not first.tail and not first.value.is_block:
            first.tail = comment
        elif comment:
            made.extra.append(comment.strip())

    def place_orphans(self, root: Part) -> None:
        """Comments whose key or item is gone go to what it held, else to what it stood in."""
        self.lined = {id(slot) for slot in lined_slots(root)}
        for slot, comments in [one for one in self.orphans(self.old) if one[1]]:
            target = self.heir(slot) or root.slots[0]
            target.extra = [*target.extra, *comments]
        for slot, feet in [one for one in self.bare_feet(self.old) if one[1]]:
            target = self.ancestor(slot) or root.slots[0]
            if target.value.is_block and target.value.is_new:
                target.value.foot = [*target.value.foot, *(" " * target.value.column + line for line in feet)]
            else:
                target.extra = [*target.extra, *feet]

    def heir(self, slot: Slot) -> Slot | None:
        """What the slot held, else what stood beside it, else what it stood in."""
        return self.taker(slot.value) or self.ancestor(slot)

    def ancestor(self, slot: Slot) -> Slot | None:
        home: Slot | None = slot
        while home is not None:
            taker = self.placed.get(id(home))
            if taker and id(taker) in self.lined:
                return taker
            home = self.pairing.parents.get(id(home))
            beside = self.taker(home.value) if home and id(home) not in self.placed else None
            if beside:
                return beside
        return None

    def taker(self, part: Part) -> Slot | None:
        """The first slot that came of one of a collection's."""
        found = (self.placed.get(id(slot)) for slot in part.slots)
        return next((slot for slot in found if slot and slot.is_new and id(slot) in self.lined), None)

    def orphans(self, part: Part) -> Iterator[tuple[Slot, list[str]]]:
        """Comments of the old outline that nothing took."""
        for slot in self.unsettled(part):
            lead = slot.lead if id(slot) not in self.led else []
            words = [slot.note, *slot.inner, comment_only(slot.tail)] if id(slot) not in self.worded else []
            yield slot, said([*lead, *words])

    def bare_feet(self, part: Part) -> Iterator[tuple[Slot, list[str]]]:
        """Feet of collections that are gone."""
        for slot in self.unsettled(part):
            if id(slot.value) not in self.footed:
                yield slot, said(slot.value.foot)

    def unsettled(self, part: Part) -> Iterator[Slot]:
        """The slots of the old outline that will not be copied."""
        for slot in part.slots:
            if self.placed.get(id(slot)) is not slot:
                yield slot
                yield from self.unsettled(slot.value)


def lined_slots(part: Part) -> Iterator[Slot]:
    for slot in part.slots if part.is_block else ():
        yield slot
        yield from lined_slots(slot.value)


def lift_comments(item: Slot) -> None:
    """What stands above the first key of an item stands above its dash."""
    first = item.value.slots[0] if item.value.is_block else None
    if first and first.is_new and not item.note:
        item.extra += said([*first.lead, *first.extra])
        first.lead, first.extra = [], []


def comment_only(rest: str) -> str:
    return rest if "#" in rest else ""


def said(lines: Several[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]
