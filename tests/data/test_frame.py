"""Your own table: the same source from every form it may have, and one clear line where something is wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.data.build import build
from evenkeel.data.frame import from_frame
from evenkeel.data.sources import load
from evenkeel.errors import InputError

SHOPS = pl.DataFrame(
    {
        "shop": ["b", "a", "b", "c"],
        "size": [1.5, -2.0, 3.25, 0.0],
        "hue": ["red", "blue", "red", "green"],
        "open": [True, False, True, True],
        "price": [9.5, 8.0, 7.5, 1.0],
    }
)


def plain(source):
    """What of a source two forms of one table must share."""
    return source.features, source.x.tolist(), source.y.tolist(), source.groups.tolist(), source.group_names


def test_text_and_truth_values_become_one_column_for_each_value():
    source = from_frame(SHOPS, client="shop", target="price")
    assert source.features == ("size", "hue=blue", "hue=green", "hue=red", "open=False", "open=True")
    assert source.x.tolist() == [
        [1.5, 0, 0, 1, 0, 1],
        [-2.0, 1, 0, 0, 1, 0],
        [3.25, 0, 0, 1, 0, 1],
        [0.0, 0, 1, 0, 0, 1],
    ]
    assert source.group_names == ("a", "b", "c")
    assert source.groups.tolist() == [1, 0, 1, 2]


def test_frame_lazy_frame_pandas_csv_and_parquet_give_the_same_source(tmp_path):
    SHOPS.write_csv(tmp_path / "shops.csv")
    SHOPS.write_parquet(tmp_path / "shops.parquet")
    categorical = SHOPS.with_columns(pl.col("hue").cast(pl.Categorical))
    wanted = plain(from_frame(SHOPS, client="shop", target="price", features=["size", "hue"]))
    forms = (SHOPS.lazy(), categorical, pd.DataFrame(SHOPS.to_dict(as_series=False)))
    for form in (*forms, tmp_path / "shops.csv", str(tmp_path / "shops.parquet")):
        assert plain(from_frame(form, client="shop", target="price", features=["size", "hue"])) == wanted


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.floats(-1e6, 1e6, width=32)), min_size=1, max_size=20))
def test_the_columns_of_one_category_sum_to_one_and_numbers_stay_as_they_are(rows):
    kinds, sizes = zip(*rows, strict=True)
    table = pl.DataFrame({"c": ["k"] * len(rows), "kind": kinds, "size": sizes, "t": sizes})
    source = from_frame(table, client="c", target="t", features=["kind", "size"])
    assert (source.x[:, :-1].sum(dim=1) == 1).all()
    assert source.x[:, -1].tolist() == list(sizes)


def test_the_table_is_a_source_by_name_and_builds(tmp_path):
    SHOPS.write_csv(tmp_path / "shops.csv")
    f = build(load("table", table=str(tmp_path / "shops.csv"), client="shop", target="price"))
    assert f.names == ("a", "b", "c")
    assert f.origin.startswith("shops.csv, 4 rows; partition column, 3 clients")


def test_a_numeric_code_can_be_made_categorical():
    table = pl.DataFrame({"c": ["k", "k"], "zip": [10115, 20095], "t": [0.5, 1.5]})
    assert from_frame(table, client="c", target="t", categorical=["zip"]).features == ("zip=10115", "zip=20095")


def test_standardize_brings_numbers_to_mean_0_and_deviation_1_and_leaves_constants_at_0():
    table = pl.DataFrame({"c": ["k"] * 4, "x": [1.0, 2.0, 3.0, 6.0], "one": [7.0] * 4, "t": [0.5] * 4})
    x = from_frame(table, client="c", target="t", standardize=True).x.numpy()
    assert x[:, 0].mean() == pytest.approx(0, abs=1e-6)
    assert x[:, 0].std() == pytest.approx(1, abs=1e-6)
    assert x[:, 1].tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("target", "kind", "classes", "names"),
    [
        (["no", "yes"], "auto", 2, ("no", "yes")),
        ([True, False], "auto", 2, ("False", "True")),
        ([0, 1], "auto", 2, ("0", "1")),
        ([0.5, 1.5], "auto", 0, ()),
        ([3, 8], "classes", 2, ("3", "8")),
        ([3, 8], "number", 0, ()),
    ],
)
def test_the_kind_of_target(target, kind, classes, names):
    source = from_frame(
        pl.DataFrame({"c": ["a", "b"], "x": [0.0, 1.0], "t": target}), client="c", target="t", kind=kind
    )
    assert (source.classes, source.class_names) == (classes, names)


def test_a_weight_column_weighs_the_rows():
    table = SHOPS.with_columns(w=pl.Series([1.0, 2.0, 0.0, 1.0]))
    source = from_frame(table, client="shop", target="price", weight="w")
    assert source.row_weight.tolist() == [1.0, 2.0, 0.0, 1.0]
    assert "w" not in source.features


def test_whole_numbers_as_clients_keep_their_order():
    table = pl.DataFrame({"c": [10, 2, 10], "x": [0.0, 1.0, 2.0], "t": [0.5, 0.5, 1.5]})
    assert from_frame(table, client="c", target="t").group_names == ("2", "10")


def put(column, values):
    return SHOPS.with_columns(pl.Series(column, values, strict=False))


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (SHOPS, {"client": "shp"}, "no column 'shp'; did you mean 'shop'?"),
        (SHOPS, {"features": ["sise"]}, "no column 'sise'; did you mean 'size'?"),
        (SHOPS, {"categorical": ["sise"]}, "no column 'sise'"),
        (SHOPS, {"features": ["price"]}, "must be other columns than ['shop', 'price']"),
        (SHOPS, {"features": []}, "features []: must be other columns"),
        (SHOPS, {"features": ["size", "size"]}, "each once"),
        (put("size", [1.0, None, 2.0, 3.0]), {}, "table, row 1: 'size' has no value"),
        (put("size", [1.0, np.nan, 2.0, 3.0]), {}, "table, row 1: 'size' has no value"),
        (put("hue", ["a", "b", None, "d"]), {}, "table, row 2: 'hue' has no value"),
        (put("shop", ["a", "b", None, "d"]), {}, "table, row 2: 'shop' has no value"),
        (put("price", [1.0, 2.0, 3.0, None]), {}, "table, row 3: 'price' has no value"),
        (put("size", [1.0, 2.0, np.inf, 3.0]), {}, "table, row 2: size = inf: must fit a 32-bit float"),
        (put("size", [1.0, 2.0, 1e300, 3.0]), {}, "table, row 2: size = 1e+300: must fit a 32-bit float"),
        (put("price", [1, 2, 3, 4]), {}, "target 'price' holds whole numbers: classes or amounts?"),
        (put("price", ["a", "b", "a", "b"]), {"kind": "number"}, "column 'price' holds String: must be numbers"),
        (SHOPS, {"kind": "klass"}, "kind = 'klass': must be auto, classes or number"),
        (SHOPS.with_columns(day=pl.date(2020, 1, 1)), {}, "column 'day' holds Date: must be numbers"),
        (SHOPS.with_columns(w=pl.Series([1.0, -1.0, 1.0, 1.0])), {"weight": "w"}, "row_weight must be"),
        (SHOPS.head(0), {}, "table has no rows"),
        (3, {}, "table is a int: must be a polars or pandas frame, or a path"),
        (pd.DataFrame({"shop": ["a", None], "price": [0.5, 1.5], "x": [0, 1]}), {}, "row 1: 'shop' has no value"),
    ],
)
def test_bad_tables_are_refused_in_one_line(table, options, says):
    with pytest.raises(InputError) as caught:
        from_frame(table, **{"client": "shop", "target": "price", **options})
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_categories_are_refused():
    table = pl.DataFrame({"c": ["k"] * 300, "name": [f"n{i}" for i in range(300)], "t": [0.5] * 300})
    with pytest.raises(InputError, match="'name' has 300 different values, at most 256"):
        from_frame(table, client="c", target="t")


def test_a_missing_cell_of_a_file_is_named_by_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("c,x,t\na,1,0.5\nb,NA,1.5\n")
    with pytest.raises(InputError, match=r"t\.csv, line 3: 'x' has no value"):
        from_frame(path, client="c", target="t")


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        from_frame(tmp_path / "none.csv", client="c", target="t")


def test_an_unknown_or_missing_option_of_a_source_is_said():
    with pytest.raises(InputError, match="data 'table': no option 'targt'; did you mean 'target'"):
        load("table", table=SHOPS, client="shop", targt="price")
    with pytest.raises(InputError, match="data 'table': option 'target' is missing"):
        load("table", table=SHOPS, client="shop")
