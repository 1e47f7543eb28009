package download

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

// A changing is a list of numbers in an old cluster, which changes before some of its pages are read.
type changing struct {
	list   []int
	before map[int]func([]int) []int // by the number of the request, from 1
	asked  int
	most   int // records of a page; more are too large. 0: no limit
}

func (c *changing) page(limit, offset int) ([]int, int, error) {
	c.asked++
	if change := c.before[c.asked]; change != nil {
		c.list = change(slices.Clone(c.list))
	}
	switch {
	case c.most > 0 && limit > c.most:
		return nil, 0, fault.New(fault.TooLarge, "too large")
	case offset > len(c.list):
		return nil, 0, fault.New(fault.Invalid, "offset out of bounds")
	}
	return c.list[offset:min(len(c.list), offset+limit)], len(c.list), nil
}

func numbersTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// TestAListThatChanges: a list of several pages is whole, and has each record once, also if the old cluster changes while it is read.
func TestAListThatChanges(t *testing.T) {
	without := func(n int) func([]int) []int {
		return func(list []int) []int { return slices.DeleteFunc(list, func(x int) bool { return x == n }) }
	}
	with := func(at, n int) func([]int) []int {
		return func(list []int) []int { return slices.Insert(list, at, n) }
	}
	always := map[int]func([]int) []int{}
	for n := range 20 {
		always[n+1] = func(list []int) []int { return list[1:] }
	}
	for what, c := range map[string]struct {
		of    changing
		noted string // that nothing is missing cannot be said
	}{
		"nothing changes":                    {of: changing{list: numbersTo(250)}},
		"a full page is the last":            {of: changing{list: numbersTo(100)}},
		"no records":                         {of: changing{}},
		"short pages":                        {of: changing{list: numbersTo(250), most: 7}},
		"pages of one record":                {of: changing{list: numbersTo(30), most: 1}},
		"one is deleted on a page before":    {of: changing{list: numbersTo(250), before: map[int]func([]int) []int{2: without(5)}}},
		"one goes, and another one comes":    {of: changing{list: numbersTo(250), before: map[int]func([]int) []int{2: without(5), 3: with(249, 999)}}},
		"one comes on a page before":         {of: changing{list: numbersTo(250), before: map[int]func([]int) []int{2: with(3, 999)}}},
		"one comes at the end":               {of: changing{list: numbersTo(250), before: map[int]func([]int) []int{2: with(250, 999)}}},
		"nearly all go":                      {of: changing{list: numbersTo(450), before: map[int]func([]int) []int{4: func(list []int) []int { return list[:10] }}}},
		"half of what was read goes":         {of: changing{list: numbersTo(150), before: map[int]func([]int) []int{2: func(list []int) []int { return list[51:] }}}},
		"one of a page that is read is gone": {of: changing{list: numbersTo(250), before: map[int]func([]int) []int{3: without(249)}}},
		"it changes always":                  {of: changing{list: numbersTo(450), before: always}, noted: "records may be missing"},
	} {
		var notes []string
		got, err := whole(lists{nil, 10_000, func(text string) { notes = append(notes, text) }}, "the list", c.of.page, func(n int) (int, int) { return n, n })
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if sorted := slices.Sorted(slices.Values(got)); len(slices.Compact(sorted)) != len(got) {
			t.Errorf("%s: records came twice: %v", what, sorted)
		}
		for _, n := range c.of.list {
			if c.noted == "" && !slices.Contains(got, n) {
				t.Errorf("%s: %d is missing", what, n)
			}
		}
		if text := strings.Join(notes, "\n"); c.noted == "" && text != "" || !strings.Contains(text, c.noted) {
			t.Errorf("%s: notes %q, want %q", what, text, c.noted)
		}
		if c.of.asked > 200 {
			t.Errorf("%s: it asked %d times", what, c.of.asked)
		}
	}
	wrong := func(limit, offset int) ([]int, int, error) { return []int{1, 2}, 3, nil }
	var notes []string
	l := lists{nil, 10_000, func(text string) { notes = append(notes, text) }}
	got, err := whole(l, "the list", wrong, func(n int) (int, int) { return n, n })
	if err != nil || fmt.Sprint(got) != "[1 2]" || len(notes) != 1 || !strings.Contains(notes[0], "2 records of 3 came") {
		t.Errorf("a master that counts more than it sends: %v, %v, %q", got, err, notes)
	}
}
