"""The words of SHACL that tidelog knows, by what they are.

Source: SHACL Core, W3C Recommendation of 2017, https://www.w3.org/TR/shacl/.
"""

from __future__ import annotations

SH = "http://www.w3.org/ns/shacl#"
VIOLATION = f"{SH}Violation"
SPARQL = f"{SH}SPARQLConstraintComponent"

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
OF_PROPERTIES = ("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals", "qualifiedValueShape")
"""Parameters that only property shapes have."""
PARAMETERS = (
    "class", "datatype", "nodeKind", *COUNTS, *BOUNDS, "pattern", "flags", "languageIn", "uniqueLang", *PAIRS,
    *SHAPES, *SHAPE_LISTS, "qualifiedValueShapesDisjoint", "closed", "ignoredProperties", "hasValue", "in",
)  # fmt: skip
SINGLE = (
    "datatype", "nodeKind", *COUNTS, *BOUNDS, "pattern", "flags", "languageIn", "uniqueLang",
    "qualifiedValueShape", "qualifiedValueShapesDisjoint", "closed", "ignoredProperties", "in", "deactivated",
    "severity", "path",
)  # fmt: skip
"""Properties of which a shape has one value at most."""
USELESS_ALONE = {
    **dict.fromkeys(("qualifiedMinCount", "qualifiedMaxCount", "qualifiedValueShapesDisjoint"), "qualifiedValueShape"),
    "flags": "pattern",
    "ignoredProperties": "closed",
}
"""Parameters that say nothing without another one."""
UNSUPPORTED = {
    "target": "targets in SPARQL belong to SHACL's advanced features",
    "js": "constraints in JavaScript belong to SHACL's extensions",
    "expression": "expressions belong to SHACL's advanced features",
}
"""Properties of shapes that tidelog does not validate, and whose neglect hides violations."""
WORDS = frozenset((
    *TARGETS, *PARAMETERS, *UNSUPPORTED, "sparql", "path", "deactivated", "severity", "message",
    # of shapes, without a say in validation
    "name", "description", "order", "group", "defaultValue", "rule",
    # of paths, prefixes, graphs, executables and components
    "inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath",
    "declare", "prefixes", "prefix", "namespace", "shapesGraph", "entailment", "suggestedShapesGraph",
    "select", "ask", "construct", "update", "returnType",
    "parameter", "optional", "labelTemplate", "validator", "nodeValidator", "propertyValidator",
    # of reports
    "conforms", "result", "shapesGraphWellFormed", "focusNode", "value", "resultPath", "resultMessage",
    "resultSeverity", "sourceShape", "sourceConstraint", "sourceConstraintComponent", "detail",
    # of the advanced features and of JavaScript
    "resultAnnotation", "annotationProperty", "annotationValue", "annotationVarName", "condition", "subject",
    "predicate", "object",
    "filterShape", "nodes", "intersection", "union", "if", "then", "else", "count", "distinct", "min", "max",
    "sum", "groupConcat", "separator", "orderBy", "desc", "limit", "offset", "exists", "minus", "targetValidator",
    "jsFunctionName", "jsLibrary", "jsLibraryURL",
))  # fmt: skip
"""The properties of SHACL and its advanced features. Others have no meaning."""
CLASSES = frozenset((
    "Shape", "NodeShape", "PropertyShape", "PropertyGroup", "NodeKind", "Severity", "PrefixDeclaration", "Validator",
    "AbstractResult", "ValidationReport", "ValidationResult", "ResultAnnotation", "ConstraintComponent", "Parameter",
    "Parameterizable", "Target", "TargetType", "Rule", "TripleRule", "Function", "SPARQLConstraint", "SPARQLExecutable",
    "SPARQLAskExecutable", "SPARQLSelectExecutable", "SPARQLConstructExecutable", "SPARQLUpdateExecutable",
    "SPARQLAskValidator", "SPARQLSelectValidator", "SPARQLFunction", "SPARQLRule", "SPARQLTarget", "SPARQLTargetType",
    "JSConstraint", "JSExecutable", "JSFunction", "JSLibrary", "JSRule", "JSTarget", "JSTargetType", "JSValidator",
))  # fmt: skip
"""The classes of SHACL and its advanced features."""
MEANT = {"shape": "node", "valueShape": "node"}
"""Words that shapes have by mistake, with the ones of SHACL."""


def component(parameter: str) -> str:
    """Return the IRI of the constraint component of a parameter."""
    return f"{SH}{parameter[0].upper()}{parameter[1:]}ConstraintComponent"
