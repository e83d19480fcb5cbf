"""`tidelog lsp`, as an editor uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

import tidelog
from tests.editors.session import Session, Work, sessions

PROGRAM = """\
.type Node <: symbol
/// Who is linked with whom: 𝔸 and ∀.
.decl edge(x: Node, y: Node)
.decl path(x: Node, y: Node)
/* 𝔸 */ path(x, y) :- edge(x, y).
far: path(x, z) :- path(x, y), edge(y, z).
.comp Twice<T> {
    .decl both(x: T, y: T)
    both(x, y) :- edge(x, y), edge(y, x).
}
.init here = Twice<Node>
.functor f(x: Node): Node
.input edge
.output path
path(x, @f(x)) :- here.both(x, _).
"""


Using = Callable[[Work], None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("editor")


@pytest.fixture(scope="module")
def using(folder: Path) -> Iterator[Using]:
    """Yield a function that lets work use the one session of these tests: its process takes seconds to start."""
    with sessions(folder) as use:
        yield use


def places(found: object) -> list[tuple[int, int, int]]:
    """Return the lines and columns of locations."""
    assert isinstance(found, (list, tuple))
    ranges = [each.range for each in found]
    return sorted((each.start.line, each.start.character, each.end.character) for each in ranges)


def test_problems_show_while_typing(using: Using) -> None:
    async def work(session: Session) -> None:
        session.open("p.dl", PROGRAM)
        await session.until("p.dl")
        session.type("p.dl", "edge(x, y).", "edges(x, y).")
        (wrong,) = await session.until("p.dl", "E0201")
        assert wrong.message == "the relation `edges` is not declared\nhint: did you mean `edge`?"
        # A character beyond the Basic Multilingual Plane counts as two.
        assert (wrong.range.start, wrong.range.end) == (types.Position(4, 23), types.Position(4, 28))
        context = types.CodeActionContext([wrong])
        params = types.CodeActionParams(session.document("p.dl"), wrong.range, context)
        (action,) = await session.client.text_document_code_action_async(params) or ()
        assert isinstance(action, types.CodeAction)
        assert action.edit is not None
        assert action.edit.changes == {session.uri("p.dl"): (types.TextEdit(wrong.range, "edge"),)}
        session.type("p.dl", "edges(x, y).", "edge(x, y)")
        await session.until("p.dl", "E0101")
        session.type("p.dl", "edge(x, y)\n", "edge(x, y), !path(y, x).\n")
        await session.until("p.dl", "E0301")
        session.type("p.dl", ", !path(y, x)", "")
        await session.until("p.dl")
        assert session.logged == []

    using(work)


def test_a_declaration_that_is_proposed_has_the_types_of_the_body(using: Using) -> None:
    async def work(session: Session) -> None:
        program = (
            ".type Name <: symbol\n.decl person(n: Name, age: number)\n"
            "older(n, m, d) :- person(n, x), person(m, y), d = (x - y) * 2, x > y.\n"
        )
        session.open("d.dl", program)
        (wrong,) = await session.until("d.dl", "E0201")
        params = types.CodeActionParams(session.document("d.dl"), wrong.range, types.CodeActionContext([wrong]))
        (action,) = await session.client.text_document_code_action_async(params) or ()
        assert isinstance(action, types.CodeAction)
        assert action.edit is not None
        ((edit,),) = (action.edit.changes or {}).values()
        assert edit.new_text == ".decl older(n: Name, m: Name, d: number)\n"
        session.type("d.dl", "older(n, m", f"{edit.new_text}older(n, m")
        await session.until("d.dl")
        session.type("d.dl", "person(n, x)", "person(n, x), !known(n, _)")
        (unclear,) = await session.until("d.dl", "E0201")
        assert "`.decl known(n: Name, x2: …)`" in unclear.message
        params = types.CodeActionParams(session.document("d.dl"), unclear.range, types.CodeActionContext([unclear]))
        assert not await session.client.text_document_code_action_async(params)

    using(work)


def test_names_lead_to_their_declarations(using: Using) -> None:
    async def work(session: Session) -> None:
        session.open("p.dl", PROGRAM)
        client, document = session.client, session.document("p.dl")

        async def definition(marked: str) -> list[tuple[int, int, int]]:
            params = types.DefinitionParams(document, session.at("p.dl", marked))
            return places(await client.text_document_definition_async(params))

        assert await definition(":- ed^ge(x, y).\nfar") == [(2, 6, 10)]
        assert await definition("y: No^de)\n.decl path") == [(0, 6, 10)]
        assert await definition("here.bo^th") == [(7, 10, 14)]
        assert await definition("he^re.both") == [(10, 6, 10)]
        assert await definition("= Tw^ice") == [(6, 6, 11)]
        assert await definition("both(x: ^T") == [(6, 12, 13)]
        assert await definition("@^f(x)") == [(11, 9, 10)]
        context = types.ReferenceContext(include_declaration=True)
        params = types.ReferenceParams(context, document, session.at("p.dl", ".output pa^th"))
        assert [line for line, *_ in places(await client.text_document_references_async(params))] == [
            3,
            4,
            5,
            5,
            13,
            14,
        ]

    using(work)


def test_renaming(using: Using) -> None:
    async def work(session: Session) -> None:
        session.open("p.dl", PROGRAM)

        async def rename(marked: str, name: str) -> list[tuple[int, int, int]]:
            params = types.RenameParams(session.document("p.dl"), session.at("p.dl", marked), name)
            edit = await session.client.text_document_rename_async(params)
            assert edit is not None
            assert edit.changes is not None
            edits = edit.changes[session.uri("p.dl")]
            assert {each.new_text for each in edits} == {name}
            return places(list(edits))

        assert await rename("far: path(x, ^z)", "last") == [(5, 13, 14), (5, 39, 40)]
        assert await rename("fa^r: path", "further") == [(5, 0, 3)]
        assert await rename(".type No^de", "Place") == [
            (0, 6, 10), (2, 14, 18), (2, 23, 27), (3, 14, 18), (3, 23, 27), (10, 19, 23), (11, 14, 18), (11, 21, 25),
        ]  # fmt: skip
        assert [line for line, *_ in await rename("bo^th(x, y) :-", "each")] == [7, 8, 14]
        assert [line for line, *_ in await rename("Tw^ice<T>", "Again")] == [6, 10]
        for name, reason in (("edge", "has the relation `edge` already"), ("a b", "is not a name")):
            with pytest.raises(JsonRpcException, match=reason):
                await rename(".output pa^th", name)

    using(work)


def test_hover_shows_declaration_documentation_and_size(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "graph.tide") as db:
        db.load(PROGRAM.replace(", @f(x)", ", x"))
        db.insert("edge", [("a", "b"), ("b", "c")])
        db.commit()

    async def work(session: Session) -> None:
        session.open("p.dl", PROGRAM)

        async def hover(marked: str) -> str:
            params = types.HoverParams(session.document("p.dl"), session.at("p.dl", marked))
            found = await session.client.text_document_hover_async(params)
            assert found is not None
            assert isinstance(found.contents, types.MarkupContent)
            return found.contents.value

        store = tmp_path / "graph.tide"
        assert await hover(":- ed^ge") == (
            "```datalog\n.decl edge(x: Node, y: Node)\n```\n\n"
            f"Who is linked with whom: 𝔸 and ∀.\n\n2 tuples in `{store}`"
        )
        assert (await hover(".output pa^th")).endswith(f"3 tuples in `{store}`")
        assert await hover("far: path(x, ^z)") == "```datalog\nz: Node\n```"
        assert await hover("= Tw^ice") == "```datalog\n.comp Twice<T>\n```"

    with sessions(tmp_path, "--store", str(tmp_path / "graph.tide")) as using:
        using(work)


def test_lists_of_an_editor(using: Using) -> None:
    async def work(session: Session) -> None:
        session.open("p.dl", PROGRAM + ".\n.decl new(x: \nnew(x) :- path(x, y), \n")
        document = session.document("p.dl")

        async def words(marked: str) -> list[str]:
            params = types.CompletionParams(document, session.at("p.dl", marked))
            found = await session.client.text_document_completion_async(params)
            assert isinstance(found, list)
            return [each.label for each in found]

        assert ".printsize" in await words("_).\n.^\n")
        assert await words(".decl new(x: ^\n") == ["number", "unsigned", "float", "symbol", "Node", "T"]
        assert await words("path(x, @^f(x))") == ["f"]
        assert {"edge", "path", "both", "here", "count"} <= {*await words("path(x, y), ^\n")}
        assert {"x", "y", "z"} <= {*await words("far: path(x, z) :- ^path")}
        assert await words(".output ^path") == ["edge", "path", "both", "here", "new"]
        symbols = await session.client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        names = [each.name for each in symbols or ()]
        assert names[:7] == ["Node", "edge", "path", "path(x, y)", "far", "Twice", "here"]
        (component,) = [each for each in symbols or () if each.name == "Twice"]
        assert isinstance(component, types.DocumentSymbol)
        assert [each.name for each in component.children or ()] == ["both", "both(x, y)"]

    using(work)


def test_formatting(using: Using) -> None:
    async def work(session: Session) -> None:
        session.open("p.dl", ".decl a( x:number )\na( 1 ).")
        options = types.FormattingOptions(4, insert_spaces=True)
        params = types.DocumentFormattingParams(session.document("p.dl"), options)
        (edit,) = await session.client.text_document_formatting_async(params) or ()
        assert edit.new_text == ".decl a(x: number)\na(1).\n"
        session.type("p.dl", "number )", "number")
        assert not await session.client.text_document_formatting_async(params)

    using(work)


def test_included_files_belong_to_the_program(folder: Path, using: Using) -> None:
    main = '#include "types.dl"\n#define LIMIT 3\na(x) :- b(x), x < LIMIT.\n.input b\n.output a\n'
    (folder / "types.dl").write_text(".decl a(x: number)\n.decl b(x: number)\n")
    (folder / "main.dl").write_text(main)

    async def work(session: Session) -> None:
        session.open("types.dl", ".decl a(x: number)\n.decl b(x: number)\n")
        await session.until("main.dl")
        session.type("types.dl", "b(x: number)", "b(x: symbol)")
        await session.until("main.dl", "E0211")
        session.open("main.dl", main)
        session.type("types.dl", "b(x: symbol)", "b(x: numbers)")
        (wrong,) = await session.until("types.dl", "E0203")
        assert wrong.range.start == types.Position(1, 8)
        params = types.DefinitionParams(session.document("main.dl"), session.at("main.dl", ":- ^b(x)"))
        found = await session.client.text_document_definition_async(params)
        assert places(found) == [(1, 6, 7)]
        assert session.uri("types.dl") in str(found)

    using(work)


def test_broken_texts_do_no_harm(using: Using) -> None:
    async def work(session: Session) -> None:
        session.open("p.dl", PROGRAM)
        for broken in (
            "/*",
            '"',
            "#include",
            "#if",
            "}",
            ".comp X {",
            "$",
            "@[",
            "\ud800".encode("utf-8", "replace").decode(),
        ):
            session.type("p.dl", "", broken)
            document = session.document("p.dl")
            await session.client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
            await session.client.text_document_hover_async(types.HoverParams(document, types.Position(5, 7)))
            session.type("p.dl", broken, "")
        session.type("p.dl", "edge(x, y).", "edges(x, y).")
        await session.until("p.dl", "E0201")
        assert [text for text in session.logged if "E0110" not in text] == []  # Files of other tests may have gone.

    using(work)
