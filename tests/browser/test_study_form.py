"""The form of the study in a browser: answered, saved on the device, and nothing sent."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from docs.study import kit
from tests.browser.pages import Watch
from tests.needs import ROOT

FORM = ROOT / "docs/study/form.html"
TASKS = json.loads((ROOT / "docs/study/tasks.json").read_text(encoding="utf-8"))


def test_answers_are_saved_on_the_device_and_evaluated(
    new_page: Callable[..., tuple[Page, Watch]], tmp_path: Path
) -> None:
    page, watch = new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(FORM.as_uri())
    expect(page.locator("fieldset")).to_have_count(1 + len(TASKS))
    save = page.get_by_role("button", name="Save answers")
    save.click()
    expect(page.get_by_role("status")).to_contain_text("Nothing was saved")
    page.get_by_label("I have read the consent text").check()
    page.get_by_label("Code that you were given").fill("ab12")
    page.get_by_label("I have used the pages").check()
    for task in TASKS[:-1]:  # the last one stays open
        page.locator(f'input[name="{task["name"]}"]').nth(task["right"]).check()
    with page.expect_download() as waiting:
        save.click()
    assert waiting.value.suggested_filename == "answers-ab12.json"
    waiting.value.save_as(tmp_path / "ab12.json")
    person = kit.read(tmp_path / "ab12.json", TASKS)
    assert (person.code, person.group) == ("ab12", "pages")
    assert person.right == {task["name"]: task is not TASKS[-1] for task in TASKS}
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as CSV").click()
    waiting.value.save_as(tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["question"] for row in rows] == [task["question"] for task in TASKS]
    assert [row["answer"] for row in rows] == [
        *(task["options"][task["right"]] for task in TASKS[:-1]), "",
    ]  # fmt: skip
    # The page itself, and the files that it made.
    assert {url.split(":")[0] for url in requests} <= {"file", "blob"}
    assert [url for url in requests if url.startswith("file:")] == [FORM.as_uri()]
    assert page.context.cookies() == []
    assert not watch.console_errors
    assert not watch.page_errors


def test_a_field_is_named_by_its_option_and_reached_by_keyboard(page: Page) -> None:
    task = TASKS[0]
    page.set_content(FORM.read_text(encoding="utf-8"))
    box = page.get_by_role("group", name="Question 1", exact=True)
    field = box.get_by_role("radio", name=task["options"][0], exact=True)
    field.focus()
    page.keyboard.press("ArrowDown")
    expect(box.get_by_role("radio", name=task["options"][1], exact=True)).to_be_checked()
