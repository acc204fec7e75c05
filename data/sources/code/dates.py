"""Dates, days of the week and times of day."""

from __future__ import annotations

from learnable.data.sources.code.inputs import clock_times, dates, numbers, together
from learnable.data.sources.code.problem import CodeProblem

DATES = (
    CodeProblem(
        form="IsLeapYear",
        names=("is_leap_year", "leap", "has_february_29"),
        signature="year",
        statement="returns True if the year is a leap year of the Gregorian calendar, else False",
        level=3.5,
        solutions=(
            "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
            "if year % 100 == 0:\n    return year % 400 == 0\nreturn year % 4 == 0",
        ),
        wrong=("return year % 4 == 0", "return year % 4 == 0 and year % 100 != 0", "return year % 400 == 0"),
        example=(2019,),
        edges=((2000,), (1900,), (2024,), (2023,), (2100,), (1600,), (1996,)),
        draw=numbers(1583, 2400),
    ),
    CodeProblem(
        form="DaysInMonth",
        names=("days_in_month", "month_length", "last_day"),
        signature="year, month",
        statement="returns the number of days of the month, 1 to 12, in that year of the Gregorian calendar",
        level=4.5,
        solutions=(
            "import calendar\nreturn calendar.monthrange(year, month)[1]",
            """
            if month == 2:
                return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
            return 30 if month in (4, 6, 9, 11) else 31
            """,
        ),
        wrong=(
            "return [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]",
            "return [31, 29 if year % 4 == 0 else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]",
            (
                "if month == 2:\n    return 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28\n"
                "return 31 if month % 2 else 30"
            ),
        ),
        example=(2021, 4),
        edges=((2023, 2), (2024, 2), (1900, 2), (2000, 2), (2022, 1), (2022, 8), (2022, 9), (2022, 12), (2022, 11)),
        draw=together(numbers(1890, 2110), numbers(1, 12)),
    ),
    CodeProblem(
        form="AddMinutes",
        names=("add_minutes", "later", "clock_after"),
        signature="time",
        statement="takes a time of day as 'HH:MM', from 00:00 to 23:59, and returns the time {0} minutes later, after "
        "midnight on from 00:00, in the same form",
        level=5.0,
        solutions=(
            """
            hours, minutes = map(int, time.split(":"))
            total = (60 * hours + minutes + {0}) % (24 * 60)
            return f"{total // 60:02}:{total % 60:02}"
            """,
            """
            import datetime
            start = datetime.datetime(2000, 1, 1, int(time[:2]), int(time[3:]))
            return (start + datetime.timedelta(minutes={0})).isoformat()[11:16]
            """,
        ),
        wrong=(
            'h, m = map(int, time.split(":"))\nt = 60 * h + m + {0}\nreturn f"{t // 60:02}:{t % 60:02}"',
            'h, m = map(int, time.split(":"))\nt = (60 * h + m + {0}) % 1440\nreturn f"{t // 60}:{t % 60}"',
            'h, m = map(int, time.split(":"))\nreturn f"{h:02}:{(m + {0}) % 60:02}"',
        ),
        example=("08:05",),
        edges=(("00:00",), ("09:59",), ("23:59",), ("23:30",), ("22:45",), ("12:00",), ("05:17",)),
        draw=clock_times(),
        parameters=((45,), (70,), (90,), (125,), (200,)),
    ),
    CodeProblem(
        form="DayOfYear",
        names=("day_of_year", "day_number", "nth_day"),
        signature="date",
        statement="takes a date as 'YYYY-MM-DD' and returns which day of its year it is, 1 for January 1",
        level=5.5,
        solutions=(
            "import datetime\nreturn datetime.date.fromisoformat(date).timetuple().tm_yday",
            """
            year, month, day = map(int, date.split("-"))
            days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            if year % 400 == 0 or (year % 4 == 0 and year % 100):
                days[1] = 29
            return sum(days[:month - 1]) + day
            """,
        ),
        wrong=(
            """
            year, month, day = map(int, date.split("-"))
            days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            return sum(days[:month - 1]) + day
            """,
            (
                "import datetime\nday = datetime.date.fromisoformat(date)\n"
                "return (day - datetime.date(day.year, 1, 1)).days"
            ),
            'year, month, day = map(int, date.split("-"))\nreturn 30 * (month - 1) + day',
        ),
        example=("2023-02-10",),
        edges=(("2023-01-01",), ("2024-03-01",), ("2023-12-31",), ("2024-12-31",), ("2000-02-29",), ("1900-03-01",)),
        draw=dates(),
    ),
    CodeProblem(
        form="DaysBetween",
        names=("days_between", "days_apart", "count_days"),
        signature="a, b",
        statement="returns how many days lie between two dates 'YYYY-MM-DD', whichever is earlier: 0 for the same day, "
        "1 for neighbours",
        level=6.0,
        solutions=(
            "import datetime\nreturn abs((datetime.date.fromisoformat(a) - datetime.date.fromisoformat(b)).days)",
            """
            def number(date):
                year, month, day = map(int, date.split("-"))
                if month < 3:
                    year, month = year - 1, month + 12
                return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day
            return abs(number(a) - number(b))
            """,
        ),
        wrong=(
            "import datetime\nreturn (datetime.date.fromisoformat(b) - datetime.date.fromisoformat(a)).days",
            "import datetime\nreturn abs((datetime.date.fromisoformat(a) - datetime.date.fromisoformat(b)).days) - 1",
            """
            def number(date):
                year, month, day = map(int, date.split("-"))
                return 365 * year + 30 * month + day
            return abs(number(a) - number(b))
            """,
        ),
        example=("2023-05-01", "2023-05-04"),
        edges=(
            ("2023-01-01", "2023-01-01"),
            ("2023-01-31", "2023-02-01"),
            ("2024-03-01", "2024-02-28"),
            ("2023-12-31", "2024-01-01"),
            ("1999-12-31", "2001-01-01"),
            ("1900-01-01", "1901-01-01"),
        ),
        draw=together(dates(), dates()),
    ),
    CodeProblem(
        form="DayOfWeek",
        names=("day_of_week", "weekday_name", "which_day"),
        signature="date",
        statement="takes a date as 'YYYY-MM-DD' and returns the English name of its day of the week, as in 'Monday'",
        level=6.5,
        solutions=(
            """
            import datetime
            names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
            return names[datetime.date.fromisoformat(date).weekday()]
            """,
            """
            year, month, day = map(int, date.split("-"))
            if month < 3:
                year, month = year - 1, month + 12
            h = (day + 13 * (month + 1) // 5 + year + year // 4 - year // 100 + year // 400) % 7
            return ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"][h]
            """,
        ),
        wrong=(
            """
            import datetime
            names = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
            return names[datetime.date.fromisoformat(date).weekday()]
            """,
            """
            year, month, day = map(int, date.split("-"))
            h = (day + 13 * (month + 1) // 5 + year + year // 4 - year // 100 + year // 400) % 7
            return ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"][h]
            """,
        ),
        example=("2024-01-01",),
        edges=(("2000-01-01",), ("2024-02-29",), ("1999-12-31",), ("2023-07-04",), ("2026-08-16",), ("1970-01-01",)),
        draw=dates(1950, 2049),
    ),
    CodeProblem(
        form="CountWeekday",
        names=("count_weekday", "months_with", "lucky_months"),
        signature="year",
        statement="returns in how many months of the year the {0}th is a {1}",
        level=7.0,
        solutions=(
            'import datetime\nreturn sum(datetime.date(year, m, {0}).strftime("%A") == "{1}" for m in range(1, 13))',
            """
            names = ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
            count = 0
            for month in range(3, 15):
                y, m = (year - 1, month) if month > 12 else (year, month)
                h = ({0} + 13 * (m + 1) // 5 + y + y // 4 - y // 100 + y // 400) % 7
                count += names[h] == "{1}"
            return count
            """,
        ),
        wrong=(
            (
                "import datetime\n"
                'return sum(datetime.date(year, m, {0} + 1).strftime("%A") == "{1}" for m in range(1, 13))'
            ),
            'import datetime\nreturn sum(datetime.date(year, m, {0}).strftime("%A") == "{1}" for m in range(1, 12))',
            "return 2",
        ),
        example=(2020,),
        edges=tuple((year,) for year in (1990, 1994, 2000, 2009, 2012, 2015, 2019, 2023, 2024, 2026)),
        draw=numbers(1950, 2049),
        parameters=((13, "Friday"), (17, "Monday"), (24, "Sunday"), (8, "Tuesday")),
    ),
)
