"""freelawproject/courtlistener#2299: FOR UPDATE locks no row that isn't there, so that two transactions insert it."""

from django_database import models, on_database
from django_database import transaction as django_transaction
from plain import transaction

from iobound import race


def reset(db):
    db.execute("DROP TABLE IF EXISTS docket")
    db.execute("CREATE TABLE docket (id integer PRIMARY KEY, num integer NOT NULL)")


def one_docket(db):
    return db.scalar("SELECT count(*) <= 1 FROM docket WHERE num = 99")


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=one_docket)
def get_or_create(key):
    with transaction() as sql:
        if not sql("SELECT id FROM docket WHERE num = 99 FOR UPDATE"):
            sql("INSERT INTO docket VALUES (%s, 99)", key)


class Docket(models.Model):
    id = models.IntegerField(primary_key=True)
    num = models.IntegerField()

    class Meta:
        app_label = "for_update_on_missing_row"
        db_table = "docket"


@race.case(sessions=[(1,), (2,)], setup=reset, invariant=one_docket)
def get_or_create_by_django(key):
    with on_database(), django_transaction.atomic():
        Docket.objects.select_for_update().get_or_create(num=99, defaults={"id": key})


EXPECTED = {
    get_or_create: {
        "postgresql": {"read committed": "violated 60/70", "repeatable read": "violated 60/70", "serializable": "holds 70"},
        "mariadb off": {"repeatable read": "holds 30, 12 deadlock"},
    },
    get_or_create_by_django: {"postgresql": {"read committed": "violated"}},
}
