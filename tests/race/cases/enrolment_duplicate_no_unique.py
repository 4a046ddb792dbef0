"""learning-unlimited/ESP-Website#5030: get_or_create() without a unique constraint, for which soft deletion leaves no place."""

from django_database import models, on_database
from plain import transaction

from iobound import race

TABLE = (
    "DROP TABLE IF EXISTS enrolment",
    "CREATE TABLE enrolment (id serial PRIMARY KEY, student integer NOT NULL, section integer NOT NULL, ended date)",
)


class Enrolment(models.Model):
    student = models.IntegerField()
    section = models.IntegerField()
    ended = models.DateField(null=True)

    class Meta:
        app_label = "enrolment_duplicate_no_unique"
        db_table = "enrolment"


def reset(db):
    for statement in TABLE:
        db.execute(statement)


def reset_unique(db):
    reset(db)
    db.execute("CREATE UNIQUE INDEX active ON enrolment (student, section) WHERE ended IS NULL")


def enrolled_once(db):
    return db.scalar("SELECT count(*) FROM enrolment WHERE ended IS NULL") == 1


@race.case(setup=reset, invariant=enrolled_once)
def enrol():
    with on_database():
        Enrolment.objects.get_or_create(student=1, section=1, ended=None)


@race.case(setup=reset_unique, invariant=enrolled_once)
def enrol_unique():
    with on_database():
        Enrolment.objects.get_or_create(student=1, section=1, ended=None)


@race.case(setup=reset_unique, invariant=enrolled_once)
def enrol_unique_by_hand():
    with transaction() as sql:
        if not sql("SELECT id FROM enrolment WHERE student = 1 AND section = 1 AND ended IS NULL"):
            sql("INSERT INTO enrolment (student, section) VALUES (1, 1) ON CONFLICT DO NOTHING")


EXPECTED = {
    enrol: {"postgresql": {"read committed": "violated"}},
    enrol_unique: {"postgresql": {"read committed": "holds"}},
    enrol_unique_by_hand: {"postgresql": {"read committed": "holds"}},
}
