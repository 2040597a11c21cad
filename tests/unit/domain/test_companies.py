import pytest

from querymill_workers.retrievers.reports.rules.companies import CompanyIndex, company_id

COMPANIES: list[tuple[str, tuple[str, ...]]] = [
    ("Aurora Foods, Inc.", ("ARFD",)),
    ("Aurora", ()),
    ("BlueHarbor Group plc", ("BHG", "蓝港集团")),
    ("北京极光科技股份有限公司", ("688123", "JGKJ")),
    ("极光", ()),
    ("Möller & Søn A/S", ()),
    ("Target Line Corp.", ("Target",)),
    ("zentrix Limited", ()),
    ("On Holding AG", ()),
    ("NORTHERNRAILWAYS", ()),
    ("PepTide", ()),
    ("The Lantern Co.", ()),
]


def found(question: str) -> set[str]:
    chosen = CompanyIndex.of(COMPANIES, text=question).found_in(question)
    return {company for company, _ in COMPANIES if company_id(company) in chosen}


@pytest.mark.parametrize(
    ("question", "companies"),
    [
        ("What did Aurora Foods earn?", {"Aurora Foods, Inc."}),
        ("What did Aurora Foods Inc earn?", {"Aurora Foods, Inc."}),
        ("AURORA FOODS' margin", {"Aurora Foods, Inc."}),
        ("aurora foods's margin", {"Aurora Foods, Inc."}),
        ("Aurora's margin", {"Aurora"}),
        ("Aurora Foods against Aurora", {"Aurora Foods, Inc.", "Aurora"}),
        ("请问Aurora Foods的收入", {"Aurora Foods, Inc."}),
        ("Auroras of the north", set()),
        ("Blue Harbor and BLUEHARBOR", {"BlueHarbor Group plc"}),
        ("a blue harbor", {"BlueHarbor Group plc"}),
        ("BHG in 2022", {"BlueHarbor Group plc"}),
        ("bhg in 2022", set()),
        ("蓝港集团的毛利", {"BlueHarbor Group plc"}),
        ("蓝港的毛利", {"BlueHarbor Group plc"}),
        ("北京极光科技有限公司去年的收入", {"北京极光科技股份有限公司"}),
        ("北京极光科技去年的收入", {"北京极光科技股份有限公司"}),
        ("极光和688123", {"北京极光科技股份有限公司", "极光"}),
        ("Moller & Son", set()),
        ("Möller and Søn", {"Möller & Søn A/S"}),
        ("Moller & Søn A/S", {"Möller & Søn A/S"}),
        ("What is the target price?", {"Target Line Corp."}),
        ("What is Aurora's target price?", {"Aurora"}),
        ("Aurora or Target?", {"Aurora", "Target Line Corp."}),
        ("Aurora or zentrix?", {"Aurora", "zentrix Limited"}),
        ("On what date did it close?", set()),
        ("When did On Holding close?", {"On Holding AG"}),
        ("northern railways", {"NORTHERNRAILWAYS"}),
        ("Pep Tide", {"PepTide"}),
        ("Lantern in 2022", {"The Lantern Co."}),
        ("the lantern company", {"The Lantern Co."}),
        ("a pep tide", set()),
        ("", set()),
    ],
)
def test_a_question_names_companies_in_many_spellings(question: str, companies: set[str]) -> None:
    assert found(question) == companies


@pytest.mark.parametrize(
    ("name", "companies"),
    [
        ("aurora foods", {"Aurora Foods, Inc."}),
        ("Aurora Foods Corporation", {"Aurora Foods, Inc."}),
        ("arfd", {"Aurora Foods, Inc."}),
        ("Aurora Group", {"Aurora"}),
        ("BlueHarbor", {"BlueHarbor Group plc"}),
        ("bhg", {"BlueHarbor Group plc"}),
        ("北京极光科技", {"北京极光科技股份有限公司"}),
        ("on", {"On Holding AG"}),
        ("Boreal", set()),
        ("", set()),
    ],
)
def test_a_given_name_is_matched_without_legal_forms_and_case(name: str, companies: set[str]) -> None:
    chosen = CompanyIndex.of(COMPANIES, text=name).named(name)
    assert {company for company, _ in COMPANIES if company_id(company) in chosen} == companies


def test_the_name_itself_goes_before_one_that_is_it_without_group() -> None:
    companies = [("Lumen Group plc", ()), ("Lumen Ltd", ())]
    assert CompanyIndex.of(companies, text="Lumen").named("Lumen") == {company_id("Lumen")}
    assert CompanyIndex.of(companies, text="Lumen Group").found_in("Lumen Group") == {company_id("Lumen Group")}


@pytest.mark.parametrize("name", ["Aurora Foods, Inc.", "AURORA FOODS", "AuroraFoods Ltd", "Aurora-Foods Co., Ltd."])
def test_spellings_of_a_company_are_one_company(name: str) -> None:
    assert company_id(name) == company_id("Aurora Foods")


@pytest.mark.parametrize("name", ["Inc.", "有限公司", "Group", "!!", "𝕏"])
def test_a_name_of_nothing_but_a_legal_form_is_still_a_name(name: str) -> None:
    assert company_id(name)
