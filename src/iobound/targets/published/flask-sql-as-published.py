# /// script
# requires-python = ">=3.8"
# dependencies = ["flask", "sqlalchemy", "pymysql[rsa]", "psycopg2-binary"]
#
# [tool.iobound]
# kind = "published"
# title = "Flask on its development server, SQLAlchemy ORM, a session factory for every request"
# comparison = "sync-async-sql"
# model = "threads"
# environment = "published"
# services = ["mariadb", "postgresql"]
# drivers = { mariadb = "pymysql", postgresql = "psycopg2-binary" }
# labels = { threads = "one per connection", debug = "False", access_log = "True", pool = "15" }
#
# [tool.iobound.like]
# mariadb = { target = "flask/werkzeug/sqlalchemy-pymysql", settings = { ACCESS_LOG = "1", KEEP_ALIVE = "0", SESSION_FACTORY = "each", POOL_SIZE = "15" } }
# postgresql = { target = "flask/werkzeug/sqlalchemy-psycopg", settings = { ACCESS_LOG = "1", KEEP_ALIVE = "0", SESSION_FACTORY = "each", POOL_SIZE = "15" } }
#
# [tool.iobound.workloads.sql-list]
# path = "/items"
# answer = "[$rows]\n"
# row = '{"id":$id,"name":"$name","quantity":$quantity}'
# between = ","
#
# [tool.iobound.workloads.sql-insert]
# method = "POST"
# path = "/entries"
# headers = { Content-Type = "application/json" }
# body = '{"name":"entry 1","quantity":1}'
# status = 201
# answer = "{\"name\":\"entry 1\",\"quantity\":1}\n"
# ///
import os

from flask import Flask, jsonify, request
from sqlalchemy import Column, Integer, String, create_engine
from sqlalchemy.orm import declarative_base, sessionmaker

# Published on MySQL with PyMySQL; psycopg2 where the URL names PostgreSQL.
DATABASE_URL = (
    os.environ["DATABASE_URL"]
    .replace("mysql://", "mysql+pymysql://")
    .replace("postgresql://", "postgresql+psycopg2://")
)

app = Flask(__name__)
engine = create_engine(DATABASE_URL)
Base = declarative_base()


class Item(Base):
    __tablename__ = "item"

    id = Column(Integer, primary_key=True)
    name = Column(String(64), nullable=False)
    quantity = Column(Integer, nullable=False)


class Entry(Base):
    __tablename__ = "entry"

    id = Column(Integer, primary_key=True)
    name = Column(String(64), nullable=False)
    quantity = Column(Integer, nullable=False)


@app.route("/items", methods=["GET"])
def list_items():
    Session = sessionmaker(bind=engine)
    session = Session()
    items = session.query(Item).all()
    session.close()
    return jsonify([{"id": item.id, "name": item.name, "quantity": item.quantity} for item in items])


@app.route("/entries", methods=["POST"])
def create_entry():
    data = request.get_json()
    Session = sessionmaker(bind=engine)
    session = Session()
    session.add(Entry(name=data["name"], quantity=data["quantity"]))
    session.commit()
    session.close()
    return jsonify({"name": data["name"], "quantity": data["quantity"]}), 201


if __name__ == "__main__":
    app.run(host=os.environ["HOST"], port=int(os.environ["PORT"]))
