"""The layouts of well-known data sets as data: the columns that tell one, and what each of them becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LETTER_COLUMNS = ("A",)  # as `FileLayout.choices`: a column for each choice, named by its letter
CONTEXT = ("passage", "context", "article", "body")  # columns that a question is about


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How one kind of data set writes its rows. Names of columns may be dotted, and their case does not matter.

    - `prompt`, `answer`: the column of each; of several names the first that rows have.
    - `reading`: how the answer is read out of its column, a name in `readings.READINGS`.
    - `verifiers`: who judges. Of two, the first judges answers that are numbers, the second all others.
    - `choices`: the column of the choices, which are listed behind the question, or a column for each; `LETTER_COLUMNS`
      for columns A, B, ... Where one of them is the answer's, they are listed by their letters.
    - `template`: how the prompt is made, where that is of several columns (`Template`). Else it is the prompt's column,
      below those of `CONTEXT` that rows have.
    - `arguments`: the column of what the answer's items take as arguments.
    - `more`: further columns that rows of this layout have. `without`: columns that they do not have.
    - `of`: a column that says what kind of task a row is, and the beginnings of the kinds that are judged so.
    - `level`: the column of the difficulty; its words are numbers by `levels`, and else the number in them counts.
    - `marked`: the answers tell the layout by themselves, so that flags may name any columns.
    - `unsure`: the columns may be of other data sets too, so that every answer has to be read.
    - `may_lack_choices`: some rows have no choices.
    """

    name: str
    prompt: tuple[str, ...]
    answer: tuple[str, ...]
    reading: str
    verifiers: tuple[str, ...]
    choices: tuple[str, ...] = ()
    template: str = ""
    arguments: str = ""
    more: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    of: tuple[str, tuple[str, ...]] = ("", ())
    level: str = "difficulty"
    levels: Mapping[str, float] = field(default_factory=dict, hash=False)
    marked: bool = False
    unsure: bool = False
    may_lack_choices: bool = False


# Where rows have two layouts in the same columns, the one that comes first: AIME is MATH with whole numbers.
LAYOUTS = (
    FileLayout("GSM8K", ("question", "prompt"), ("answer",), "hashes", ("number",), marked=True),
    FileLayout(
        "MATH",
        ("problem",),
        ("solution",),
        "boxed",
        ("mathematics",),
        without=("answer",),
        level="level",
        marked=True,
    ),
    FileLayout(
        "SimpleQA", ("problem",), ("answer",), "name", ("text",), more=("metadata.topic", "metadata.answer_type")
    ),
    FileLayout("AIME", ("problem",), ("answer",), "to_999", ("number",)),
    FileLayout(
        "MATH with answers", ("problem",), ("answer", "expected_answer"), "expression", ("mathematics",), level="level"
    ),
    FileLayout(
        "SVAMP",
        ("question",),
        ("answer",),
        "number",
        ("number",),
        template="{body} {question}",
        more=("body", "equation"),
    ),
    FileLayout(
        "ASDiv",
        ("question",),
        ("answer",),
        "measured",
        ("number", "text"),
        template="{body} {question}",
        more=("body",),
    ),
    FileLayout("MAWPS", ("input",), ("target",), "number", ("number",), unsure=True),
    FileLayout("MAWPS", ("sQuestion",), ("lSolutions",), "number", ("number",)),
    FileLayout("MGSM", ("question",), ("answer_number",), "number", ("number",)),
    FileLayout("MetaMathQA", ("query",), ("response",), "in_words", ("number", "mathematics"), unsure=True),
    FileLayout(
        "TheoremQA, WebInstruct",
        ("question",),
        ("answer",),
        "expression",
        ("number", "mathematics"),
        more=("answer_type",),
    ),
    FileLayout("CMATH", ("question",), ("answer",), "measured", ("number",), more=("grade", "reasoning_step")),
    FileLayout(
        "OlympiadBench",
        ("question",),
        ("final_answer",),
        "expression",
        ("mathematics",),
        more=("subfield", "answer_type"),
    ),
    FileLayout("DeepMath", ("question",), ("final_answer",), "expression", ("mathematics",), more=("r1_solution_1",)),
    FileLayout(
        "TabMWP",
        ("question",),
        ("answer",),
        "choice_or_value",
        ("number", "text"),
        ("choices",),
        "{table_title}\n{table}\n\n{question}",
        more=("table",),
        may_lack_choices=True,
        level="grade",
    ),
    FileLayout(
        "ScienceQA",
        ("question",),
        ("answer",),
        "choice",
        ("choice",),
        ("choices",),
        "{hint}\n\n{question}",
        more=("hint", "skill"),
    ),
    FileLayout("MMLU", ("question",), ("answer",), "choice", ("choice",), ("choices",)),
    FileLayout("MMLU-Pro", ("question",), ("answer",), "choice", ("choice",), ("options",)),
    FileLayout("AQuA", ("question",), ("correct",), "choice", ("choice",), ("options",)),
    FileLayout("MathQA", ("problem",), ("correct",), "choice", ("choice",), ("options",)),
    FileLayout("AGIEval", ("question",), ("label",), "choice", ("choice",), ("options",)),
    FileLayout("HellaSwag", ("ctx",), ("label",), "choice", ("choice",), ("endings",)),
    FileLayout("LogiQA", ("query",), ("correct_option",), "choice", ("choice",), ("options",)),
    FileLayout("PIQA", ("goal",), ("label",), "choice", ("choice",), ("sol1", "sol2")),
    FileLayout("ReClor", ("question",), ("label",), "choice", ("choice",), ("answers",)),
    FileLayout("Cosmos QA", ("question",), ("label",), "choice", ("choice",), tuple(f"answer{n}" for n in range(4))),
    FileLayout("Social IQa", ("question",), ("label",), "place_from_1", ("choice",), ("answerA", "answerB", "answerC")),
    FileLayout(
        "COPA",
        ("premise",),
        ("label",),
        "choice",
        ("choice",),
        ("choice1", "choice2"),
        "{premise}\n\nWhat was its {question}?",
        more=("question",),
    ),
    FileLayout(
        "MuSR",
        ("question",),
        ("answer_index",),
        "choice",
        ("choice",),
        ("choices",),
        "{narrative}\n\n{question}",
        more=("narrative",),
    ),
    FileLayout("BIG-Bench Hard", ("input",), ("target",), "bracketed", ("choice",), unsure=True),
    FileLayout("WinoGrande", ("sentence",), ("answer",), "place_from_1", ("choice",), ("option1", "option2")),
    FileLayout("MedMCQA", ("question",), ("cop",), "choice", ("choice",), ("opa", "opb", "opc", "opd")),
    FileLayout(
        "SciQ",
        ("question",),
        ("correct_answer",),
        "text_of_choice",
        ("choice",),
        ("correct_answer", "distractor1", "distractor2", "distractor3"),
    ),
    FileLayout(
        "GPQA",
        ("question",),
        ("correct answer",),
        "text_of_choice",
        ("choice",),
        ("correct answer", "incorrect answer 1", "incorrect answer 2", "incorrect answer 3"),
    ),
    FileLayout(
        "yes or no",
        ("question",),
        ("answer",),
        "yes_or_no",
        ("choice",),
        template="{passage}\n\n{question}\n\nAnswer with yes or no.",
        unsure=True,
    ),
    FileLayout(
        "ProofWriter",
        ("question",),
        ("answer",),
        "true_or_unknown",
        ("choice",),
        template="{theory}\n\n{question}\n\nAnswer with true, false or unknown.",
        more=("theory",),
    ),
    FileLayout(
        "FOLIO",
        ("conclusion",),
        ("label",),
        "true_or_uncertain",
        ("choice",),
        template="{premises}\n\n{conclusion}\n\nAnswer with true, false or uncertain.",
        more=("premises",),
    ),
    FileLayout("TriviaQA", ("question",), ("answer.aliases",), "texts", ("text",)),
    FileLayout("NQ-Open", ("question",), ("answer",), "texts", ("text",), unsure=True),
    FileLayout("SQuAD", ("question",), ("answers.text",), "texts", ("text",), more=("context",)),
    FileLayout("multiple choice", ("question",), ("answer",), "choice", ("choice",), LETTER_COLUMNS, more=("A", "B")),
    FileLayout("ARC", ("question", "question_stem"), ("answerKey",), "choice", ("choice",), ("choices",)),
    FileLayout("ARC", ("question.stem",), ("answerKey",), "choice", ("choice",), ("question.choices",)),
    FileLayout(
        "verl",
        ("prompt",),
        ("reward_model.ground_truth",),
        "expression",
        ("number", "mathematics"),
        of=("ability", ("math",)),
    ),
    FileLayout(
        "RLVR",
        ("messages",),
        ("ground_truth",),
        "expression",
        ("number", "mathematics"),
        more=("dataset",),
        of=("dataset", ("gsm8k", "math")),
    ),
    FileLayout(
        "SYNTHETIC-1",
        ("prompt",),
        ("verification_info.ground_truth",),
        "expression",
        ("number", "mathematics"),
        of=("task_type", ("verifiable_math",)),
    ),
    FileLayout("TRL", ("prompt",), ("answer", "solution"), "expression", ("mathematics",), more=("solution",)),
    FileLayout("HumanEval", ("prompt",), ("test",), "tests", ("programs",), more=("entry_point",)),
    FileLayout("MBPP", ("text", "prompt"), ("test_list",), "tests", ("programs",), more=("code",)),
    FileLayout(
        "APPS",
        ("question",),
        ("input_output",),
        "tests",
        ("programs",),
        levels={"introductory": 1.0, "interview": 2.0, "competition": 3.0},
    ),
    FileLayout(
        "Codeforces",
        ("description",),
        ("official_tests", "examples"),
        "tests",
        ("programs",),
        template="{description}\n\n{input_format}\n\n{output_format}",
        more=("input_format",),
    ),
    FileLayout("CodeContests", ("description",), ("public_tests",), "tests", ("programs",)),
    FileLayout("LiveCodeBench", ("question_content",), ("public_test_cases",), "tests", ("programs",)),
    FileLayout("DeepCoder", ("problem",), ("tests",), "tests", ("programs",)),
    FileLayout("reasoning-gym", ("question",), ("answer",), "gym", ("reasoning-gym",), arguments="metadata"),
    FileLayout("IFEval", ("prompt",), ("instruction_id_list",), "instructions", ("instructions",), arguments="kwargs"),
)

# Sets whose rows have no answer that a verifier of ours judges: their questions alone are known.
INSTRUCTED = "{context}\n\n{instruction}\n\n{input}"
OPEN_LAYOUTS = (
    FileLayout("Alpaca", ("instruction",), (), "", (), template=INSTRUCTED, more=("output",)),
    FileLayout("Dolly", ("instruction",), (), "", (), template=INSTRUCTED, more=("response",)),
)
