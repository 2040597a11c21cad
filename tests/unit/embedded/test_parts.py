import pytest

from querymill_embedded.parts import ALL, Program, StackPart, check_programs, endpoints, in_order


def test_only_started_parts_have_settings() -> None:
    assert endpoints({StackPart.VALKEY: 20001}, {}) == {"REDIS_URL": "redis://127.0.0.1:20001/0"}
    assert endpoints({}, {}) == {}


def test_a_part_with_a_password_is_reached_with_it() -> None:
    assert endpoints(
        {StackPart.VALKEY: 20001, StackPart.POSTGRES: 20002}, {StackPart.VALKEY: "a1", StackPart.POSTGRES: "b2"}
    ) == {
        "REDIS_URL": "redis://:a1@127.0.0.1:20001/0",
        "DATABASE_URL": "postgresql://querymill:b2@127.0.0.1:20002/querymill",
    }


def test_every_part_leads_to_its_own_port() -> None:
    ports = {part: 20000 + number for number, part in enumerate(StackPart)}
    assert endpoints(ports, {}) == {
        "REDIS_URL": "redis://127.0.0.1:20000/0",
        "DATABASE_URL": "postgresql://querymill@127.0.0.1:20001/querymill",
        "EMBEDDING_BASE_URL": "http://127.0.0.1:20002/v1",
        "EMBEDDING_API_KEY": "embedded",
        "EMBEDDING_MODEL": "multilingual-e5-small",
        "OPENAI_BASE_URL": "http://127.0.0.1:20003/v1",
        "OPENAI_API_KEY": "embedded",
        "CHAT_MODEL": "smollm2-135m-instruct",
        "QUERYMILL_RERANK_TOKENS": "500",
        "QUERYMILL_ANSWER_TOKENS": "500",
        "QUERYMILL_ANSWERS": "quoted",
    }


def test_parts_start_in_the_order_of_their_declaration_once_each() -> None:
    assert in_order([StackPart.CHAT, StackPart.VALKEY, StackPart.CHAT]) == [StackPart.VALKEY, StackPart.CHAT]
    assert in_order(ALL) == list(StackPart)


@pytest.mark.parametrize("name", ["", "Worker", "a b", "a:b", "../a", "工人", "1st"])
def test_a_program_name_must_be_a_plain_word(name: str) -> None:
    with pytest.raises(ValueError, match="program name"):
        Program(name=name, command=("true",))


def test_a_program_needs_a_command() -> None:
    with pytest.raises(ValueError, match="worker: the command is empty"):
        Program(name="worker", command=())


@pytest.mark.parametrize("names", [["valkey"], ["leash"], ["supervisord"], ["search", "search"]])
def test_a_program_cannot_take_a_name_that_is_in_use(names: list[str]) -> None:
    with pytest.raises(ValueError, match=f"'{names[-1]}' is taken"):
        check_programs([Program(name=name, command=("true",)) for name in names])
