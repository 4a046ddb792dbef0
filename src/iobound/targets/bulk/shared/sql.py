"""The statements of the load, with the placeholders of the driver. Keeps to the syntax of Python 2.7."""

GEO = ("fileid", "stusab", "chariter", "cifsn", "logrecno")
ELEMENT = ("geo_record_id", "dictionary_item_id", "value")


class Sql(object):
    """`geo` and `insert` insert a record of either phase; `record` and `items` look up what a line refers to."""

    def __init__(self, placeholder):
        def marks(count):
            if placeholder.startswith("$"):
                return ["$%d" % (number + 1) for number in range(count)]
            return [placeholder] * count

        def insert(table, columns):
            return "INSERT INTO %s (%s) VALUES (%s)" % (table, ", ".join(columns), ", ".join(marks(len(columns))))

        self.geo = insert("geo_record", GEO)
        self.insert = insert("data_element", ELEMENT)
        is_it = " AND ".join("%s = %s" % pair for pair in zip(GEO, marks(len(GEO))))
        self.record = "SELECT id FROM geo_record WHERE " + is_it
        self.items = (
            "SELECT dictionary_item.id FROM dictionary_item JOIN matrix ON matrix.id = dictionary_item.matrix_id"
            " WHERE matrix.segment = %s ORDER BY dictionary_item.id" % marks(1)[0]
        )
        self.loaded = "SELECT count(*) FROM data_element WHERE geo_record_id = %s" % marks(1)[0]
