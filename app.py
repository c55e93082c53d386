"""Word Privacy Lab: `streamlit run app.py`. The router; what a page shows is in `pages/`."""

import streamlit as st

from pages.shared.frame import TITLE, open_frame
from pages.shared.warmup import warm_up

page = open_frame()
st.set_page_config(page_title=f"{page.title} – {TITLE}", page_icon="🔏", layout="wide")
warm_up()
page.run()
