"""First page that a browser loads, before anything of the app can be drawn.

It is Streamlit's page, and explains why it stays empty where scripts or web sockets are blocked:
Streamlit 1.67 shows nothing for 39 seconds, and then a sentence about its own server.
`tests/browser/test_blocked.py` fails if Streamlit explains it itself.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from streamlit import config, file_util
from streamlit.url_util import make_url_path

from pages.shared.contents import CONTENTS, MOVED, NAME, Content
from pages.shared.language import LANGUAGES, later, say, speaking

TITLE = later("No connection")
BLOCKED = (
    later(
        "This page has loaded, but it cannot connect: in ten seconds no WebSocket to {address} has "
        "opened. A firewall, a proxy or an extension of your browser probably blocks it."
    ),
    later(
        "Ask the people who look after your network to allow WebSockets to this address. If it "
        "fails for everyone, ask the people who run this server. Another network, such as your "
        "phone's, often works."
    ),
    later("The page continues by itself once it is connected."),
)
NO_SCRIPT = later(
    "This page needs JavaScript. Allow it for this address in your browser, or ask the people "
    "who look after your computer."
)
PICTURES = {path.stem: path for path in (Path(__file__).parents[2] / "data/pictures").glob("*.png")}
"""First screen of each page, by its address: the picture of a link."""

_PICTURE = "picture/{address}.png"
_AS_IT_IS = '<meta name="google" content="notranslate">'
_ADDRESS = "<code></code>"  # filled by the script
_NO_SCRIPT = re.compile(r"<noscript>.*?</noscript>", re.DOTALL)


@cache
def front_page(address: str = "") -> str:
    """Return Streamlit's page with our sentences in it, in all languages.

    A link to it, shown in a chat or a search, has the title and the question of its page. It is not
    translated by a browser: that would keep numbers as they were when they change.

    Args:
        address: of the page.
    """
    page = (Path(file_util.get_static_dir()) / "index.html").read_text(encoding="utf-8")
    here = Path(__file__)
    style = here.with_suffix(".css").read_text(encoding="utf-8")
    script = here.with_suffix(".js").read_text(encoding="utf-8")
    page = page.replace(
        '<html lang="en">', '<html lang="en" translate="no" class="notranslate">', 1
    )
    page = page.replace("</head>", f"{_told(address)}<style>{style}</style></head>", 1)
    plain = "".join(f"<p {_of(spoken)}>{_in(spoken, NO_SCRIPT)}</p>" for spoken in LANGUAGES)
    page = _NO_SCRIPT.sub(lambda _: f"<noscript><div>{plain}</div></noscript>", page, count=1)
    blocked = "".join(
        f"<div {_of(spoken)} hidden><h1>{_in(spoken, TITLE)}</h1>"
        + "".join(f"<p>{_in(spoken, sentence)}</p>" for sentence in BLOCKED)
        + "</div>"
        for spoken in LANGUAGES
    )
    # The script of the app is a module, which a browser runs after this one.
    box = f'<div id="blocked" role="alert" hidden>{blocked}</div><script>{script}</script>'
    return page.replace("</body>", f"{box}</body>", 1)


def _told(address: str) -> str:
    """Return the tags that describe a page (Open Graph)."""
    page = _page(address)
    facts = {
        "og:site_name": NAME,
        "og:type": "website",
        "og:title": f"{page.title} – {NAME}",
        "og:description": page.question,
        "og:image:alt": page.question,
        "twitter:card": "summary_large_image",
    }
    tags = [f'<meta property="{name}" content="{escape(fact)}">' for name, fact in facts.items()]
    return "".join(
        (f'<meta name="description" content="{escape(page.question)}">', _AS_IT_IS, *tags)
    )


def _page(address: str) -> Content:
    pages = {page.address: page for page in CONTENTS}
    return pages.get(MOVED.get(address, address), CONTENTS[0])


def front_routes() -> list[Route]:
    """Return routes from the addresses of all pages to this page, and to the pictures of links."""
    base = config.get_option("server.baseUrlPath")
    addresses = ["", *(page.address for page in CONTENTS), *MOVED]
    routes = [Route(make_url_path(base, address), _answer) for address in addresses]
    return [*routes, Route(make_url_path(base, _PICTURE), _picture, name="picture")]


async def _answer(request: Request) -> HTMLResponse:
    address = request.url.path.rstrip("/").rpartition("/")[2]
    page = front_page(address)
    own = _page(address).address
    if own in PICTURES:
        # Absolute, as the protocol demands; not in the cache, since a host is what a client says.
        picture = escape(str(request.url_for("picture", address=own)))
        page = page.replace("</head>", f'<meta property="og:image" content="{picture}"></head>', 1)
    return HTMLResponse(page, headers={"Cache-Control": "no-cache"})


async def _picture(request: Request) -> Response:
    path = PICTURES.get(request.path_params["address"])
    return Response(status_code=404) if path is None else FileResponse(path)


def _of(spoken: str) -> str:
    return f'lang="{spoken}" translate="no"'


def _in(spoken: str, sentence: str) -> str:
    with speaking(spoken):
        return escape(say(sentence)).replace("{address}", _ADDRESS)
