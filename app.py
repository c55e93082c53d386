"""Word Privacy Lab: `streamlit run app.py`. The router; what a page shows is in `pages/`."""

from pages.shared.aids import reading_aids
from pages.shared.contents import CONTENTS
from pages.shared.frame import open_frame
from pages.shared.warmup import warm_up

page = open_frame()
if (
    page.title != CONTENTS[0].title
):  # the first page is drawn at once; the others need what it makes ready
    warm_up()
reading_aids(page.url_path)
page.run()
warm_up()
