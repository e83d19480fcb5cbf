"""The description of the service (SPARQL 1.1 Service Description): what GET /sparql without a query answers."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from tidelog.rdf.formats import INFERRED, format_of, load
from tidelog.rdf.serve.formats import TRIPLES, written
from tidelog.serve.media import accepted
from tidelog.serve.problems import bad_request

_PREFIXES = {
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "formats": "http://www.w3.org/ns/formats/",
}
_SERVICES = """
<sparql> a sd:Service ; sd:endpoint <sparql> ; sd:supportedLanguage sd:SPARQL10Query, sd:SPARQL11Query ;
    sd:resultFormat formats:SPARQL_Results_JSON, formats:SPARQL_Results_XML, formats:SPARQL_Results_CSV,
        formats:SPARQL_Results_TSV, formats:Turtle, formats:N-Triples, formats:JSON-LD, formats:RDF_XML ;
    sd:defaultDataset _:dataset .
<update> a sd:Service ; sd:endpoint <update> ; sd:supportedLanguage sd:SPARQL11Update ;
    sd:inputFormat formats:Turtle, formats:N-Triples, formats:RDF_XML ; sd:defaultDataset _:dataset .
_:dataset a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] .
"""


def described(request: Request, graphs: Iterable[str]) -> Response:
    """Return the description: addresses, languages, formats and graphs. Raise RequestError: E0692 for a wrong header
    Host, E0694 (406)."""
    format = accepted(request, TRIPLES)
    iris = [INFERRED, *(name for name in graphs if not name.startswith("_:"))]
    named = "".join(f"_:dataset sd:namedGraph [ a sd:NamedGraph ; sd:name <{iri}> ] .\n" for iri in iris)
    prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in _PREFIXES.items())
    oxigraph = load()
    try:
        text = f"{prefixes}{_SERVICES}{named}"
        quads = list(oxigraph.parse(text, oxigraph.RdfFormat.TURTLE, base_iri=str(request.base_url)))
    except (SyntaxError, ValueError):
        raise bad_request("the header Host is not part of an IRI", "send the name of the server") from None

    def to_text(name: str) -> str:
        form = getattr(oxigraph.RdfFormat, format_of(name))
        triples = (quad.triple for quad in quads)
        data: bytes = oxigraph.serialize(triples, format=form, prefixes=_PREFIXES)
        return data.decode()

    return written(to_text, format)
