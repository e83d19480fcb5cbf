"""A zoo in RDF: the consequences by OWL 2 RL and by a user's rule, and their changes when the ontology changes."""

from pathlib import Path

import tidelog.rdf

ZOO = "http://example.org/zoo/"
RULES = """
@prefix zoo: <http://example.org/zoo/> .
neighbours: zoo:neighbour(x, y) :- zoo:inside(x, place), zoo:inside(y, place), zoo:Animal(x), zoo:Animal(y), x != y.
"""


def show(title: str, triples: tidelog.Relation) -> None:
    """Print triples without the common beginning of their IRIs."""
    print(f"{title}:")
    for triple in sorted(triples):
        if str(triple[0]).startswith(ZOO) and str(triple[1]).startswith((ZOO, tidelog.rdf.TYPE)):
            print("   ", *(str(term).removeprefix(ZOO).rpartition("#")[2] for term in triple))


def main() -> None:
    """Load, look, change the ontology, look again."""
    store = tidelog.rdf.connect(rules=("owl-rl", RULES))
    store.insert(Path(__file__).with_name("zoo.ttl"))
    store.commit()
    for subject in ("flap", "owl"):
        show(f"What is known of {subject}", store.triples(ZOO + subject))

    store.insert(f"<{ZOO}moth> a <{ZOO}Animal> .")
    show("\nA moth is an animal", store.commit().inserted)

    store.insert(f"<{ZOO}Bat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{ZOO}Bird> .")
    change = store.commit()
    show("\nA bat is a bird, says somebody", change.inserted)
    for name in change.rules_added:
        print("    by the rule", store.database.rules[name])
    for rule, thing, *classes in store.inconsistencies():
        print(f"    {rule}:", *(str(term).removeprefix(ZOO) for term in (thing, *classes)))


if __name__ == "__main__":
    main()
