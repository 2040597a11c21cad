import stat
from pathlib import Path

from querymill_embedded.parts import ALL, StackPart
from querymill_embedded.passwords import PROTECTED, Password, choose_passwords, passwords_of


def test_servers_with_data_get_a_random_password_each_and_the_model_servers_none(tmp_path: Path) -> None:
    passwords = choose_passwords(ALL, tmp_path)
    assert passwords.keys() == PROTECTED
    assert len({len(password) for password in passwords.values()}) == 1
    assert len(set(passwords.values())) == len(PROTECTED)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "passwords").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "passwords").stat().st_mode) == 0o700


def test_a_chosen_password_stays_and_is_set_once(tmp_path: Path) -> None:
    chosen = choose_passwords([StackPart.VALKEY], tmp_path)[StackPart.VALKEY]
    first = Password.of(StackPart.VALKEY, tmp_path)
    assert first is not None
    assert (first.value, first.is_set) == (chosen, False)
    first.keep()
    again = Password.of(StackPart.VALKEY, tmp_path)
    assert again is not None
    assert (again.value, again.is_set) == (chosen, True)
    again.keep()
    assert choose_passwords([StackPart.VALKEY], tmp_path) == {StackPart.VALKEY: chosen}


def test_a_folder_has_no_passwords_until_they_are_chosen(tmp_path: Path) -> None:
    assert passwords_of(ALL, tmp_path) == {}
    assert Password.of(StackPart.POSTGRES, tmp_path) is None
    assert list(tmp_path.iterdir()) == []
