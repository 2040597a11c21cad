from querymill_workers.retrievers.reports.rules.revisions import content_in, content_of, revision_of


def test_a_revision_is_a_content_and_a_model() -> None:
    content = content_of('{"sha1": "a"}')
    assert content_in(revision_of(content, "bge-m3:latest")) == content
    assert revision_of(content, "a") != revision_of(content, "b")
    assert content_of('{"sha1": "b"}') != content
