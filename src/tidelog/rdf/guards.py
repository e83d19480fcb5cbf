"""Guards: rules that hold as long as certain facts about the schema follow from the data.

`Schema` has only the consequences of schema triples. Data can add to it: a rule derives a subclass, a member of a
user's class becomes a transitive property, two classes are the same. The instances that rest on such facts keep them in
their bodies.
"""

from __future__ import annotations

import numpy

from tidelog.database.database import Database
from tidelog.rdf.matching import Pair, SchemaFacts
from tidelog.rdf.names import Names
from tidelog.rdf.schema import added
from tidelog.rdf.specialise import RuleInstance, instances
from tidelog.rdf.tables import TableRule
from tidelog.rdf.terms import SAME_AS, TYPE


def guards(
    table: tuple[TableRule, ...], database: Database, names: Names, known: SchemaFacts
) -> tuple[RuleInstance, ...]:
    """Return the instances that rest on facts of the views of a database beside the `known` ones."""
    same = _same(database, names)
    if not same and not _more(database, names, known):
        return ()
    facts = _facts(database, names, known).changed({SAME_AS: same})
    new = set(added(facts, known))
    if not new:
        return ()
    return tuple(dict.fromkeys(each for each in instances(table, facts, guarded=True) if not new.isdisjoint(each.body)))


def _more(database: Database, names: Names, known: SchemaFacts) -> bool:
    """Return True if a view has more schema facts than the known ones."""
    properties = ((names.properties.get(iri), len(pairs)) for iri, pairs in known.pairs.items() if iri != TYPE)
    classes = ((names.classes.get(iri), known.members.get(iri, 0)) for iri in known.classes)
    return any(_size(database, name) > size for name, size in (*properties, *classes))


def _size(database: Database, name: str | None) -> int:
    stored = database.engine.views.get(name) if name is not None else None
    return len(stored) if stored is not None else 0


def _facts(database: Database, names: Names, known: SchemaFacts) -> SchemaFacts:
    """Return the schema facts in the views."""
    pairs: dict[str, list[Pair]] = {}
    for iri in known.pairs:
        name = names.properties.get(iri)
        if iri != TYPE and _size(database, name):
            pairs[iri] = list(database[str(name)])  # type: ignore[arg-type]
    pairs[TYPE] = [
        (str(row[0]), iri)
        for iri in known.classes
        if _size(database, names.classes.get(iri))
        for row in database[names.classes[iri]]
    ]
    return SchemaFacts(pairs, known.classes)


def _same(database: Database, names: Names) -> list[Pair]:
    """Return the properties and classes that are the same as something else."""
    name = names.property(SAME_AS)
    if not _size(database, name):
        return []
    stored = database.engine.views.get(name)
    assert stored is not None
    texts = {*names.properties, *names.classes, TYPE}
    words = [word for text in texts if (word := database.workspace.dictionary.find(text, "symbol")) is not None]
    rows = stored.words()
    rows = rows[numpy.isin(rows[:, 0], words)]
    left, right = (database.workspace.dictionary.strings(column) for column in rows.T)
    return [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
