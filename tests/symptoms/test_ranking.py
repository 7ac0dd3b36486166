"""What the page's own script ranks; no second implementation of it exists."""

import json
import re
from pathlib import Path

from compile_in_practice import symptoms

ROOT = Path(__file__).parents[2]
REPORTS = symptoms.reports(ROOT)
PERSONAL = (
    r"/(?:home|[Uu]sers)/(?!user\b)\w+|/root/",
    r"Users\\(?!user\b)\w+",
    r"torchinductor_(?!user\b)\w+",
    r"\w@\w",
)


def best(*texts: str) -> list[str]:
    """The first entry for each text."""
    return [ids[0] for ids in symptoms.ranked(ROOT / "docs", list(texts))]


def test_each_file_of_a_report_is_listed_with_an_entry_that_exists() -> None:
    labels = {entry.id for entry in symptoms.read(ROOT / "docs")}
    files = {path.name for path in (ROOT / symptoms.REPORTS / "reports").iterdir()}
    assert sorted(report["file"] for report in REPORTS) == sorted(files)
    assert {report["entry"] for report in REPORTS} <= labels


def test_reports_name_no_person_and_no_home() -> None:
    for report in REPORTS:
        assert [re.findall(mark, report["text"]) for mark in PERSONAL] == [[], [], [], []]


def test_what_a_report_found_at_first_is_a_place_or_none() -> None:
    later = [report["blind"] for report in REPORTS if "blind" in report]
    assert len(later) >= 10
    assert all(isinstance(place, int) and place >= 0 for place in later)


def test_nine_of_ten_reports_find_their_entry_among_the_first_three() -> None:
    found = symptoms.find(ROOT)
    assert found["n_reports"] >= 30
    assert found["n_found"] >= 0.9 * found["n_reports"]


def test_the_page_tells_what_the_script_finds_now() -> None:
    told = json.loads((ROOT / "docs" / symptoms.FOUND).read_text(encoding="utf-8"))
    assert told == symptoms.find(ROOT), "run: python -m compile_in_practice.symptoms"


def test_paths_numbers_addresses_and_quoted_names_change_nothing() -> None:
    line = "tensor '{}' size mismatch at index {}. expected {}, actual {} ({}/{}.py:{}) {}"
    one = line.format("x", 0, 3, 4, "/opt/lib", "model", 7, "0x7f31a243e3e0")
    two = line.format("images", 2, 640, 8, "C:\\work\\lib", "net", 99, "0x55aa00ffee12")
    assert symptoms.ranked(ROOT / "docs", [one])[0] == symptoms.ranked(ROOT / "docs", [two])[0]
    assert best(one) == ["symptom-recompile-size"]


def test_prefixes_of_logs_and_frames_of_tracebacks_change_nothing() -> None:
    message = "Compiler: cl is not found."
    log = f"[rank1]:W0906 20:38:55.305000 5696 torch/_dynamo/eval.py:10] [7/0_1] {message}"
    frame = 'File "/srv/cudagraphs.py", line 3, in recompile_limit\n    print(checkpoint)\n'
    plain, logged, traced = symptoms.ranked(ROOT / "docs", [message, log, frame + message])
    assert plain == logged == traced
    assert plain[0] == "symptom-cl-not-found"


def test_a_guard_on_a_value_is_told_by_its_shape_alone() -> None:
    numbers = ("- 0/0: epoch == 7", "    - L['scale'] == 0.25   # return x * scale  # net.py:3")
    attributes = ("- 3/1: L['self'].blocks[2].depth == 5", "- 0/0: model.blocks[0].kind == 'b'")
    wanted = ["symptom-recompile-number"] * 2 + ["symptom-recompile-attribute"] * 2
    assert best(*numbers, *attributes) == wanted


def test_a_guard_behind_the_reason_of_a_recompile_is_told_too() -> None:
    older = "('Recompiling function f', \"triggered by the following guard failure: L['t'] == 2\")"
    ids = symptoms.ranked(ROOT / "docs", [older, "last reason: 0/7: y == 7   # return x + y"])
    assert all("symptom-recompile-number" in found[:3] for found in ids)


def test_the_head_of_a_log_of_recompiles_counts_where_it_stands_alone() -> None:
    head = "Recompiling function f in b.py:3\n    triggered by the following guard failure(s):\n"
    cause = "    - 0/0: GLOBAL_STATE changed: grad_mode"
    assert best(head, head + cause) == ["symptom-recompiling", "symptom-recompile-global-state"]


def test_a_paste_that_is_indented_as_a_whole_is_read_like_another() -> None:
    paste = 'File "a.py", line 3, in f\n    raise E(\nCompiler: cl is not found.'
    indented = "\n".join(f"         {line}" for line in paste.split("\n"))
    plain, moved = symptoms.ranked(ROOT / "docs", [paste, indented])
    assert plain == moved
    assert plain[0] == "symptom-cl-not-found"


def test_the_id_of_a_graph_break_is_enough() -> None:
    page = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html"
    assert best(page) == ["symptom-data-dependent"]


def test_words_for_what_you_see_find_an_entry_without_a_message() -> None:
    asked = "loss is fine but every step is slow after epoch 1"
    assert best(asked, "my forward hook is not called") == ["symptom-slow-steps", "symptom-hook"]


def test_words_of_a_beginner_find_the_entry_with_the_change() -> None:
    asked = {
        "mark_static_address": "symptom-cudagraph-mutation",
        "kv cache without a CUDA graph": "symptom-cudagraph-mutation",
        "past_key_values": "symptom-recompile-length",
        "train eval switch recompiles": "symptom-train-eval",
        "- 0/0: m.training == True": "symptom-train-eval",
        "variable length prompts": "symptom-every-size",
        "prompts of different length recompile": "symptom-every-size",
        "torch.compile before or after DDP": "symptom-wrapper-order",
    }
    assert best(*asked) == list(asked.values())


def test_a_kv_cache_finds_what_grows_and_what_loses_its_cuda_graph() -> None:
    both = ["symptom-recompile-length", "symptom-cudagraph-mutation"]
    assert symptoms.ranked(ROOT / "docs", ["kv cache"])[0][:2] == both
    assert best("growing kv cache", "kv cache without a CUDA graph") == both


def test_words_of_the_meaning_find_an_entry_too() -> None:
    assert best("weights were offloaded and adapters set up") == ["symptom-triton-cpu-tensor"]


def test_a_text_that_shares_no_rare_word_finds_nothing() -> None:
    assert symptoms.ranked(ROOT / "docs", ["xyzzy 12345 /tmp/nothing", ""]) == [[], []]
