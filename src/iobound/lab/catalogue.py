"""The targets that can be launched: parts and published programs, read as text and never imported.

Every file of `targets/` says what it is in inline script metadata (PEP 723: ``requires-python``, ``dependencies`` and a
``[tool.iobound]`` table). The parts of a composed target::

    # [tool.iobound]
    # kind = "framework"               kind = "server"                     kind = "store"
    # title = "Flask"                  title = "gunicorn, gthread worker"  title = "psycopg 3, pool"
    # interface = "wsgi"               accepts = ["wsgi"]                  service = "postgresql"
    # calls = "sync"                   model = "threads"                   calls = "sync"
    #                                  knobs = ["WORKERS", "THREADS"]

A published program is one self-contained file in `targets/published/`, which reads ``HOST``, ``PORT``, ``DATABASE_URL``,
``CACHE_URL`` and ``FILE_PATH`` from its environment and listens once it is started::

    # [tool.iobound]
    # kind = "published"
    # title = "Flask and SQLAlchemy on the development server"
    # comparison = "sync-async-mysql"      what it is compared within: the same word in all contenders
    # model = "threads"
    # environment = "published"            the lock: targets/locks/published.txt
    # python = "3.8"                       optional: another interpreter than iobound's own
    # services = ["mariadb", "postgresql"] alternatives, the first is preferred; [] for none
    #
    # [tool.iobound.workloads.sql-list]    one table a workload that it serves, named as in iobound.workloads
    # method = "GET"                       optional, the default
    # path = "/users"
    # headers = { Accept = "*/*" }         optional
    # body = ''                            optional
    # status = 200                         optional, the default; what a working program would answer
    # answer = '[$rows]'                   optional: the exact body; any complete one where it is absent
    # row = '{"id": $id, "name": "$name"}' what stands for $rows in `answer`: this for each row of the table `item` ($id, $name,
    # between = ', '                       $quantity), with this between; $file in `answer` stands for the text of the file
    # expected_failure = "why"             optional: published broken, this workload is known to fail

A literal ``$`` in `answer` or `row` is written ``$$``. Such a program is named by its file (``flask-as-published``), on a service
that isn't its first one by file and service (``flask-sql-as-published@postgresql``).
"""
