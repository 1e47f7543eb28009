package logs

import (
	"fmt"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	v1 "github.com/detent-ml/detent/master/v1"
)

var now = time.Unix(1700000000, 123456789)

// split cuts chunks and gives the lines in short form.
func split(chunks ...string) []string {
	s := NewSplitter("stdout")
	var out []string
	show := func(lines []Line) {
		for _, l := range lines {
			rank := ""
			if l.Rank >= 0 {
				rank = fmt.Sprintf("%d:", l.Rank)
			}
			if l.Level != v1.LogLevelUnspecified {
				rank += strings.TrimPrefix(string(l.Level), leftover.LevelPrefix) + ":"
			}
			out = append(out, rank+l.Text)
		}
	}
	for _, c := range chunks {
		show(s.Feed([]byte(c), now))
	}
	show(s.Rest(now))
	return out
}

func TestSplitting(t *testing.T) {
	for _, c := range []struct {
		chunks []string
		want   []string
	}{
		{[]string{"a\nb\n"}, []string{"a", "b"}},
		{[]string{"a", "b\nc"}, []string{"ab", "c"}},
		{[]string{"a\n\nb\n"}, []string{"a", "", "b"}},
		{[]string{"a\r\nb\r\n"}, []string{"a", "b"}},
		{[]string{"a\r", "\nb"}, []string{"a", "b"}},
		{[]string{"\r 10%\r 20%\r 30%\n"}, []string{" 10%", " 20%", " 30%"}},
		{[]string{"10%\r", "\r", "20%\n"}, []string{"10%", "20%"}},
		{[]string{""}, nil},
		{[]string{"[rank=3] hello\n"}, []string{"3:hello"}},
		{[]string{"[rank=0] ERROR: it broke\n"}, []string{"0:ERROR:it broke"}},
		{[]string{"INFO: x\n"}, []string{"INFO:x"}},
		{[]string{"INFO:root:x\n"}, []string{"INFO:root:x"}},
		{[]string{"INFORMATION: x\n"}, []string{"INFORMATION: x"}},
		{[]string{"a [rank=3] b\n"}, []string{"a [rank=3] b"}},
		{[]string{"[rank=x] b\n", "[rank=12345678901] c\n"}, []string{"[rank=x] b", "[rank=12345678901] c"}},
		{[]string{strings.Repeat("x", maxText+3) + "\n"}, []string{strings.Repeat("x", maxText), "xxx"}},
		{[]string{strings.Repeat("x", maxText) + "\n"}, []string{strings.Repeat("x", maxText)}},
		{[]string{"[rank=1] " + strings.Repeat("y", 9000) + "\nz\n"},
			[]string{"1:" + strings.Repeat("y", maxText-len("[rank=1] ")), "1:" + strings.Repeat("y", 9000-maxText+len("[rank=1] ")), "z"}},
		{[]string{strings.Repeat("x", maxText-1) + "é\n"}, []string{strings.Repeat("x", maxText-1), "é"}},
	} {
		if got := split(c.chunks...); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%.60q:\n got %.200q\nwant %.200q", c.chunks, got, c.want)
		}
	}
}

func TestNothingIsLostInSplitting(t *testing.T) {
	// However the text is divided into chunks, all its pieces are returned whole and in order.
	property := func(raw []byte, cuts []uint8) bool {
		text := strings.Map(func(r rune) rune {
			if r == '\r' || r == '[' || r == ':' {
				return '.'
			}
			return r
		}, string(raw))
		var chunks []string
		for rest := text; rest != ""; {
			n := len(rest)
			if len(cuts) > 0 {
				n, cuts = min(n, int(cuts[0])+1), cuts[1:]
			}
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		want := strings.Split(text, "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		return strings.Join(split(chunks...), "\n") == strings.Join(want, "\n")
	}
	if err := quick.Check(property, nil); err != nil {
		t.Fatal(err)
	}
}

func TestLinesSurviveASegment(t *testing.T) {
	for _, l := range []Line{
		{Number: 0, Time: now, Stream: "stdout", Rank: -1, Level: v1.LogLevelUnspecified, Source: "task", Text: ""},
		{Number: 9, Time: now, Stream: "stderr", Rank: 12, Level: v1.LogLevelError, Source: "runner", Text: "with\ttabs\tand \xff\x00 bytes"},
	} {
		raw := l.AppendTo(nil)
		got, err := leftover.ParseLine(raw[:len(raw)-1])
		if err != nil || !got.Time.Equal(l.Time) {
			t.Fatalf("%+v %v", got, err)
		}
		got.Time = l.Time
		if got != l {
			t.Errorf("got %+v, want %+v", got, l)
		}
	}
	for _, bad := range []string{"", "1\t2\t3", "x\t1\tstdout\t-\t-\ttask\tx", "1\tx\tstdout\t-\t-\ttask\tx", "1\t1\tstdout\tx\t-\ttask\tx"} {
		if _, err := leftover.ParseLine([]byte(bad)); err == nil {
			t.Errorf("%q was read as a line", bad)
		}
	}
}

func TestTheWireTakesWhatIsPrinted(t *testing.T) {
	w := Line{Rank: 4, Text: "a\x00b\xffc"}.Wire()
	if w.Log != "a\x00b\uFFFDc" || *w.RankID != 4 {
		t.Fatalf("%+v", w)
	}
	if w := (Line{Rank: -1, Text: "x"}).Wire(); w.RankID != nil {
		t.Fatalf("%+v", w)
	}
}
