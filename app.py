"""Word Privacy Lab: `streamlit run app.py`. The server and the router; pages are in `pages/`."""

from streamlit.starlette import App

from pages.opening.warmup import prepared
from pages.shared.front import front_routes
from pages.shared.server import guards

if __name__ == "__main__":  # run by Streamlit, for a visitor
    from pages.lesson.steps import explain
    from pages.opening.warmup import warm_up
    from pages.shared.aids import reading_aids
    from pages.shared.contents import CONTENTS
    from pages.shared.frame import open_frame
    from pages.shared.language import say
    from pages.shared.process import hurried, settle

    page = open_frame()
    if page.title != say(CONTENTS[0].title):  # which needs little of it
        warm_up()
    with hurried():
        if reading_aids():
            explain(page.url_path)
        page.run()
    settle()
else:  # imported by the server, once
    app = App(__file__, lifespan=prepared, middleware=guards(), routes=front_routes())
