"""The schema over time: an older database is brought up to date with all its rows."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.schema import CreateIndex

from softlabel import store
from softlabel.errors import StoreError
from softlabel.store import Plan, engine
from softlabel.store.schema import metadata

OLD_ROWS = """
INSERT INTO study VALUES ('birds', '[study]', '["sparrow", "wren", "finch"]', 2, 1, 5.0);
INSERT INTO batch VALUES ('birds', 'b0', 1);
INSERT INTO item VALUES ('birds', 'bird-0', 'target', 'b0', 100, 1);
INSERT INTO item VALUES ('birds', 'bird-1', 'target', 'b0', 200, 1);
INSERT INTO session VALUES ('s1', 'birds', 'ann', 0, 'task', '["wren", "finch", "sparrow"]', 7,
  NULL, 1, 1, 3605.0, 3600.0, 'b0', 6.0);
INSERT INTO token VALUES ('token of ann', 's1', 6.0);
INSERT INTO showing VALUES ('s1', 0, 'birds', 'bird-1', 'target', NULL, 'b0', 'answered', 'r1');
INSERT INTO showing VALUES ('s1', 1, 'birds', 'bird-0', 'target', NULL, 'b0', 'open', NULL);
INSERT INTO response (id, study, session, annotator, item, kind, position, batch, mode,
  mode_version, answer, payload, digest, received_at, active_ms, fields)
  VALUES ('r1', 'birds', 's1', 'ann', 'bird-1', 'target', 0, 'b0', 'hard', 1, '{"top": "wren"}',
  '{}', 'd', 8.0, 2290.0, '{"top": 1240.0}');
INSERT INTO event (study, annotator, name, detail, at)
  VALUES ('birds', 'ann', 'consent', '{"adult": true}', 6.5);
"""


@pytest.fixture
def old(place):
    """A database as version 0001 left it, with a study under way."""
    engines = engine.make_engines(place, create=True)
    with engines.write.connect() as connection, connection.begin():
        engine.begin(connection)
        engine.run_migrations(connection, "0001")
        for line in OLD_ROWS.strip().split(";\n"):
            connection.exec_driver_sql(line.rstrip(";"))
    engines.dispose()
    return place


def test_an_older_database_keeps_everything_and_goes_on(old, scene_of):
    with store.open(old) as db:
        ann = db.session("token of ann")
        assert (ann.annotator, ann.stage, ann.answered) == ("ann", "task", 1)
        assert ann.label_order == ("wren", "finch", "sparrow")
        (row,) = db.responses("birds")
        assert (row.id, row.item, row.answer_json) == ("r1", "bird-1", '{"top": "wren"}')
        assert (row.mode_options, row.frame) == ("{}", None)
        assert (row.late, row.timing.active_ms, row.timing.fields) == (False, 2290, {"top": 1240})
        assert [(e.name, e.detail) for e in db.events("birds")] == [("consent", {"adult": True})]
        assert db.study("birds").per_item == 2
        scene = scene_of(db)
        scene.answer(ann, 1, now=9.0)
        db.invite("birds", "bob", "hash", 9.0).result()  # a table that was not there
        scene.lease(scene.enter("cleo"), Plan(per_item=2, batches=True))
        assert db.taken_per_batch("birds") == {"b0": 2}
        assert scene.taken() == scene.held() == {"bird-0": 2, "bird-1": 2}


OLD_SKIPS = """
INSERT INTO item VALUES ('birds', 'easy', 'training', NULL, 300, 0);
INSERT INTO showing VALUES ('s1', 2, 'birds', 'easy', 'training', NULL, NULL, 'answered', 'r2');
INSERT INTO response (id, study, session, annotator, item, kind, position, mode, mode_version, skip,
  payload, digest, received_at, fields)
  VALUES ('r2', 'birds', 's1', 'ann', 'easy', 'training', 2, 'hard', 1, 'not_in_list', '{}', 'd',
  9.0, '{}');
INSERT INTO response (id, study, session, annotator, item, kind, position, batch, mode,
  mode_version, skip, payload, digest, received_at, fields, supersedes)
  VALUES ('r3', 'birds', 's1', 'ann', 'bird-1', 'target', 0, 'b0', 'hard', 1, 'cannot_judge', '{}',
  'e', 10.0, '{}', 'r1');
UPDATE showing SET response = 'r3' WHERE position = 0;
UPDATE session SET answered = 2;
"""


def test_skips_that_were_counted_as_answers_no_longer_are(old, scene_of):
    engines = engine.make_engines(old, create=False)
    with engines.write.begin() as connection:
        for line in OLD_SKIPS.strip().split(";\n"):
            connection.exec_driver_sql(line.rstrip(";"))
    engines.dispose()
    with store.open(old) as db:
        ann = db.session("token of ann")
        assert (ann.answered, ann.skipped) == (0, 1)
        assert [s.state for s in db.showings("s1")] == ["skipped", "open", "skipped"]
        scene = scene_of(db)
        assert scene.taken() == scene.held() == {"bird-0": 1, "bird-1": 0}
        assert db.progress("birds").skips == {"cannot_judge": 1}
        scene.answer(ann, 0, supersedes="r3", now=11.0)
        assert scene.taken() == scene.held() == {"bird-0": 1, "bird-1": 1}


# SQLAlchemy cannot read an index on an expression back from SQLite: its text is compared instead
@pytest.mark.filterwarnings("ignore:.*expression-based index.*item_by_priority")
def test_the_newest_migration_makes_the_schema_that_the_code_uses(place):
    store.open(place).close()
    engines = engine.make_engines(place, create=False)
    with engines.read.connect() as connection:
        assert engine.read_revision(connection) == engine.HEAD
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        if engines.is_sqlite:
            query = "SELECT sql FROM sqlite_master WHERE name = 'item_by_priority'"
            made = connection.exec_driver_sql(query).scalar()
            declared = {one.name: one for one in metadata.tables["item"].indexes}
            assert made == str(CreateIndex(declared["item_by_priority"]).compile(engines.read))
    engines.dispose()


def test_the_migrations_are_the_ones_the_program_knows():
    config = engine.alembic_config()
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(reversed([script.revision for script in scripts])) == engine.REVISIONS


def test_a_newer_database_is_refused_and_left_alone(place):
    store.open(place).close()
    engines = engine.make_engines(place, create=False)
    with engines.write.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0099'"))
    with pytest.raises(
        StoreError, match=r"newer softlabel: its schema is '0099'.*update softlabel"
    ):
        store.open(place)
    with engines.read.connect() as connection:
        assert engine.read_revision(connection) == "0099"
    engines.dispose()


def test_opening_an_up_to_date_database_does_not_need_alembic(tmp_path):
    """Starting is quick, and a program that only reads answers needs less."""
    import subprocess
    import sys

    path = tmp_path / "answers.db"
    store.open(path).close()
    script = (
        "import sys; from softlabel import store; store.open(sys.argv[1]).close();"
        "print('alembic' in sys.modules)"
    )
    words = [sys.executable, "-c", script, path]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "False\n"
