"""The verbs of a store about shapes: `Store` has the rest."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tidelog.errors import LimitError, Problem, ProgramError, ShapesWarning, UsageError, flag, quote_name
from tidelog.limits.watch import changing_within_memory, reading_within_memory
from tidelog.rdf.change import StoreChange
from tidelog.rdf.functions import with_functions
from tidelog.rdf.names import Names
from tidelog.rdf.shapes.compiling import COLUMNS, shape_rules
from tidelog.rdf.shapes.documents import ShapesGraph
from tidelog.rdf.shapes.links import knowable
from tidelog.rdf.shapes.report import ValidationReport
from tidelog.rdf.shapes.shape import read_shapes
from tidelog.rdf.shapes.testing import FUNCTIONS
from tidelog.rdf.sparql.bodies import Unsupported, too_large
from tidelog.rdf.sparql.computing import FUNCTIONS as SPARQL_FUNCTIONS
from tidelog.rdf.sparql.evaluation import dataset
from tidelog.rdf.sparql.problems import failed
from tidelog.rdf.sparql.verbs import SparqlVerbs
from tidelog.rdf.sparql.views import refuse_taken, refuse_wrong
from tidelog.rdf.tables import TableRule


class ShapeVerbs(SparqlVerbs):
    """Verbs that validate triples by shapes of SHACL."""

    _names: Names
    _table: tuple[TableRule, ...]
    _asks_nodes: bool

    def shapes(
        self,
        data: Any,
        name: str = "shapes",
        format: str | None = None,
        *,
        base: str | None = None,
        inferred: bool = True,
        strict: bool = False,
    ) -> None:
        """Validate by shapes of SHACL from the next `commit` on: the relation `name` has the violations.

        `data`, `format` and `base` are those of `insert`. The shapes stay apart from the triples of the store. They see
        the union of all graphs with what follows; without `inferred`, asserted triples only. The columns are focus,
        path, value, shape, component, severity, message and detail, all symbols. `validate` returns a report,
        `subscribe` follows the view, `drop_view` removes it.

        Parts that tidelog does not know or validate are passed over with a ShapesWarning (E0659) for each, which the
        report of `validate` has, too; with `strict`, they are errors.

        Raise DataError as `insert`, and E0674 for shapes that are ill-formed; UsageError (E0663: the name is taken,
        E0675: beyond SHACL).
        """
        with self._changing(), changing_within_memory:
            refuse_wrong(name)
            refuse_taken(name, self.database.program)
            inferred, strict = flag("inferred", inferred), flag("strict", strict)
            graph = ShapesGraph(data, format, base, self._labels, is_strict=strict)
            infers = any(rule.name in ("cax-sco", "rdfs9") for rule in self._table)
            try:
                shapes = knowable(read_shapes(graph, self._declared, inferred=inferred), graph)
                self._refuse_entailment(graph)
                rules = shape_rules(
                    name,
                    shapes,
                    self._names.property if inferred else self._names.given,
                    self._names.class_ if inferred and infers else None,
                    graph.warnings,
                    inferred=inferred,
                )
            except Unsupported as error:
                raise _too_much(str(error), "split them among several calls of `store.shapes`") from None
            except RecursionError:
                raise _too_much("a path or a list is nested too deeply", "write the path in fewer steps") from None
            for problem in graph.warnings:
                warnings.warn(str(problem), ShapesWarning, stacklevel=2)
            try:
                self._load_view(with_functions(rules, self.database, (*FUNCTIONS, *SPARQL_FUNCTIONS)))
            except (ProgramError, RecursionError) as error:
                raise too_large(name, error) from None
            self._asks_nodes |= not inferred

    def _refuse_entailment(self, graph: ShapesGraph) -> None:
        """Raise UsageError (E0675) for shapes that need inferences in a store without rules of its own."""
        regimes = [regime for subject in graph.subjects for regime in graph.objects(subject, "entailment")]
        if regimes and not self._table:
            hint = 'connect with rules="rdfs" or rules="owl-rl"'
            message = f"the shapes need the entailment {regimes[0]}, but the store has no rules"
            raise UsageError(Problem("E0675", message, place="<shapes>", hint=hint))

    def validate(self, *names: str) -> ValidationReport:
        """Return the violations of the last commit: of the shapes with some names, or of all.

        Raise UsageError (E0601) if there are no such shapes.
        """
        with self._using(), reading_within_memory:
            relations = self.database.workspace.committed.checked.relations
            there = [
                name for name, each in relations.items() if tuple(column.name for column in each.columns) == COLUMNS
            ]
            for name in names or there[:1] or ("shapes",):
                if not isinstance(name, str) or name not in there:
                    hint = "add shapes with `store.shapes(…)`, and commit"
                    raise UsageError(Problem("E0601", f"there are no shapes called {quote_name(name)}", hint=hint))
            asked = names or tuple(there)
            return self._report(asked, lambda each: self.database[each] if each in relations else ())

    def validated(self, change: StoreChange, name: str) -> ValidationReport:
        """Return the violations that a change of shapes alone brings to those with a name: all, if it brings them. For
        modules of this package."""
        return self._report([name], lambda each: change[each].inserted if change.knows(each) else ())

    def _report(self, names: Sequence[str], rows: Callable[[str], Iterable[tuple[Any, ...]]]) -> ValidationReport:
        """Return the report of shapes, whose relations have certain `rows`, over the triples of the last commit."""
        end = None if self._time_limit is None else time.monotonic() + self._time_limit

        def ask(text: str, options: Mapping[str, Any], inferred: bool) -> Any:
            if end is not None and time.monotonic() > end:
                hint = "raise the limit with store.options(timeout=…), or validate fewer nodes"
                message = f"the validation took longer than {self._time_limit:g} seconds"
                raise LimitError(Problem("E0501", message, hint=hint))
            with self._sharing(union=True, inferred=inferred) as copy, failed(text, "<shapes>"):
                return copy.store.query(text, **dataset(copy.store, inferred, union=True), **options)

        return ValidationReport(names, rows, ask, self._all_prefixes)


def _too_much(reason: str, hint: str) -> UsageError:
    """Return the error for shapes that no view can have."""
    return UsageError(Problem("E0675", f"the shapes cannot be maintained: {reason}", place="<shapes>", hint=hint))
