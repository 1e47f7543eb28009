package table_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/table"
)

// The wanted tables were printed by Determined 0.38.1's own renderer.
func TestTables(t *testing.T) {
	const started = "2022-10-05 12:01:02+0000"
	three := 3
	for _, c := range []struct {
		name    string
		headers []string
		rows    [][]any
		want    string
	}{
		{"texts, numbers and gaps", []string{"ID", "Owner", "Name", "Parent ID", "State", "Progress", "Started", "Ended", "Resource Pool"},
			[][]any{
				{1, "determined", "foo", nil, "RUNNING", "50.0%", started, nil, "default"},
				{12, "admin", "123", &three, "COMPLETED", "100.0%", started, started, "default"},
			}, `
   ID | Owner      | Name   |   Parent ID | State     | Progress   | Started                  | Ended                    | Resource Pool
------+------------+--------+-------------+-----------+------------+--------------------------+--------------------------+-----------------
    1 | determined | foo    |             | RUNNING   | 50.0%      | 2022-10-05 12:01:02+0000 |                          | default
   12 | admin      | 123    |           3 | COMPLETED | 100.0%     | 2022-10-05 12:01:02+0000 | 2022-10-05 12:01:02+0000 | default
`},
		{"no rows", []string{"ID", "Owner"}, nil, `
 ID   | Owner
------+---------
`},
		{"cells and headers of several lines", []string{"Trial", "H", "m\n(loss)", "b"}, [][]any{
			{1, "{\n    \"a\": 1,\n    \"b\": 2\n}", 0.5, true},
			{2, "{\n    \"a\": 1\n}", 10.123456789, false},
		}, `
   Trial | H           |        m | b
         |             |   (loss) |
---------+-------------+----------+-------
       1 | {           |   0.5    | True
         |     "a": 1, |          |
         |     "b": 2  |          |
         | }           |          |
       2 | {           |  10.1235 | False
         |     "a": 1  |          |
         | }           |          |
`},
		{"numbers of all sizes", []string{"Trial", "H"}, [][]any{{nil, 1e-9}, {nil, 123456789.0}, {nil, math.NaN()}, {nil, nil}}, `
 Trial   |             H
---------+---------------
         |   1e-09
         |   1.23457e+08
         | nan
         |
`},
		{"numbers beside texts", []string{"Trial", "H"}, [][]any{{1, 2.0}, {"N/A", 3}}, `
 Trial   |   H
---------+-----
 1       |   2
 N/A     |   3
`},
		{"wide characters", []string{"Name", "N"}, [][]any{{"日本語モデル", 1}, {"é", 22}}, `
 Name         |   N
--------------+-----
 日本語モデル |   1
 é            |  22
`},
		{"what would move the cursor", []string{"Name"}, [][]any{{"a\x1b[31mb\rc\u009b2J"}}, `
 Name
-----------------------
 a\x1b[31mb\x0dc\x9b2J
`},
	} {
		tab := table.New(c.headers...)
		for _, row := range c.rows {
			tab.Row(row...)
		}
		var b strings.Builder
		if err := tab.Write(&b); err != nil {
			t.Fatal(err)
		}
		if want := c.want[1:]; b.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, b.String(), want)
		}
	}
}

func TestCSV(t *testing.T) {
	tab := table.New("ID", "Name", "Value", "On", "Of")
	tenth := 0.1
	tab.Row(1, "a \"b\", c", tenth+0.2, true, nil)
	tab.Row(2, "two\nlines", 1e-7, false, int64(1)<<60)
	tab.Row(-3, "=HYPERLINK(\"http://evil\")", -0.5, true, "-")
	var b strings.Builder
	if err := tab.CSV(&b); err != nil {
		t.Fatal(err)
	}
	want := "ID,Name,Value,On,Of\r\n" +
		"1,\"a \"\"b\"\", c\",0.30000000000000004,True,\r\n" +
		"2,\"two\nlines\",1e-07,False,1152921504606846976\r\n" +
		"-3,\"'=HYPERLINK(\"\"http://evil\"\")\",-0.5,True,-\r\n"
	if b.String() != want {
		t.Errorf("%q\nwant\n%q", b.String(), want)
	}
}

func TestFloatsAsPythonPrintsThem(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 2: "2.0", -1.5: "-1.5", 0.1: "0.1", 1e16: "1e+16", 1e15: "1000000000000000.0", 0.0001: "0.0001",
		0.00001: "1e-05", 1.5e300: "1.5e+300", math.Inf(1): "inf", math.Inf(-1): "-inf",
	} {
		if got := table.Float(f); got != want {
			t.Errorf("Float(%v) = %s, want %s", f, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	at := time.Date(2026, 11, 20, 14, 1, 2, 999, time.FixedZone("", 2*3600))
	if got := table.Time(&at); got != "2026-11-20 12:01:02+0000" {
		t.Errorf("Time: %v", got)
	}
	if table.Time(nil) != nil || table.Time(&time.Time{}) != nil || table.Percent(nil) != nil {
		t.Error("a missing value has a text")
	}
	half := 0.4567
	if got := table.Percent(&half); got != "45.7%" {
		t.Errorf("Percent: %v", got)
	}
	var none *int
	if table.OrNA(none) != "N/A" || table.OrNA(nil) != "N/A" || table.OrNA(3) != int64(3) || table.OrNA("") != "" {
		t.Error("OrNA")
	}
}
