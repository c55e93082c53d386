"""Word Privacy Lab: `streamlit run app.py`. The router; what a page shows is in `pages/`."""

from pages.shared.aids import reading_aids
from pages.shared.contents import CONTENTS
from pages.shared.frame import open_frame
from pages.shared.memory import settle
from pages.shared.warmup import warm_up

page = open_frame()
if page.title != CONTENTS[0].title:  # which is drawn at once; the others need what is loaded here
    warm_up()
reading_aids(page.url_path)
page.run()
warm_up()
settle()
