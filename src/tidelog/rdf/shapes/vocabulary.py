"""The words of SHACL that tidelog knows, by what they are.

Source: SHACL Core, W3C Recommendation of 2017, https://www.w3.org/TR/shacl/.
"""

from __future__ import annotations

SH = "http://www.w3.org/ns/shacl#"
VIOLATION = f"{SH}Violation"

TARGETS = ("targetClass", "targetNode", "targetObjectsOf", "targetSubjectsOf")
"""Properties that give a shape focus nodes."""
NODE_KINDS = ("BlankNode", "IRI", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral")
SHAPES = ("node", "property", "not", "qualifiedValueShape")
"""Parameters whose values are shapes."""
SHAPE_LISTS = ("and", "or", "xone")
"""Parameters whose values are lists of shapes."""
BOUNDS = ("minExclusive", "minInclusive", "maxExclusive", "maxInclusive")
COUNTS = ("minCount", "maxCount", "minLength", "maxLength", "qualifiedMinCount", "qualifiedMaxCount")
PAIRS = ("equals", "disjoint", "lessThan", "lessThanOrEquals")
OF_PROPERTIES = ("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals")
"""Parameters that only property shapes have."""
PARAMETERS = (
    "class", "datatype", "nodeKind", *COUNTS, *BOUNDS, "pattern", "flags", "languageIn", "uniqueLang", *PAIRS,
    *SHAPES, *SHAPE_LISTS, "qualifiedValueShapesDisjoint", "closed", "ignoredProperties", "hasValue", "in",
)  # fmt: skip
SINGLE = (
    "datatype", "nodeKind", *COUNTS, *BOUNDS, "pattern", "flags", "languageIn", "uniqueLang",
    "qualifiedValueShapesDisjoint", "closed", "ignoredProperties", "in", "deactivated", "severity", "path",
)  # fmt: skip
"""Properties of which a shape has one value at most."""
OTHERS = ("name", "description", "order", "group", "defaultValue", "rule", "declare", "prefixes", "shapesGraph")
"""Properties of shapes that say nothing about validation."""
KNOWN = frozenset((*TARGETS, *PARAMETERS, *OTHERS, "path", "deactivated", "severity", "message"))
REFUSED = {
    "sparql": "constraints in SPARQL belong to SHACL-SPARQL",
    "target": "targets in SPARQL belong to SHACL's advanced features",
    "js": "constraints in JavaScript belong to SHACL's extensions",
    "expression": "expressions belong to SHACL's advanced features",
}
"""Properties of shapes that SHACL Core does not have, and whose neglect would hide violations."""


def component(parameter: str) -> str:
    """Return the IRI of the constraint component of a parameter."""
    return f"{SH}{parameter[0].upper()}{parameter[1:]}ConstraintComponent"
