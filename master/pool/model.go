package pool

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/go-version"

	"github.com/detent-ml/detent/master/expconf"
)

// A Model is the devices of one model on a node, with the attributes that their plugin reports,
// such as "memory": "81559 MiB".
type Model struct {
	Vendor, Type, Name string
	Attributes         map[string]string
}

// fact returns an attribute of the devices by its name without ${ and }.
func (m *Model) fact(name string) (value string, found bool) {
	switch name {
	case "device.model":
		return m.Name, true
	case "device.vendor":
		return m.Vendor, true
	case "device.type":
		return m.Type, true
	}
	attribute, ours := strings.CutPrefix(name, "device.attr.")
	if !ours {
		return "", false
	}
	value, found = m.Attributes[attribute]
	return value, found
}

// Met reports whether the devices meet a comparison of their attributes. Values with units are
// compared as quantities; a number without a unit has the unit of the attribute. match may be nil.
func (m *Model) Met(c Comparison, match Match) bool {
	left, found := ValueOf(c.Attribute, m.fact)
	if a, ok := quantityOf(left); found && ok {
		b, ok := quantityOf(c.Value)
		switch {
		case ok && b.of == "":
			c.Attribute, c.Value = plainNumber(a.n), plainNumber(b.n*a.unit)
		case ok && a.of == b.of:
			c.Attribute, c.Value = plainNumber(a.n), plainNumber(b.n)
		case ok: // watts are neither more nor less than bytes
			return c.Operator == "!=" || c.Operator == "not"
		}
	}
	return c.Meets(m.fact, match)
}

// Fits reports whether the devices meet resources.gpu.
func (m *Model) Fits(g *expconf.GPU) bool {
	if g == nil {
		return true
	}
	if len(g.Model) > 0 && !matchesAny(g.Model, m.Name) {
		return false
	}
	if g.MemoryGB != nil && !m.hasMemory(*g.MemoryGB) {
		return false
	}
	if g.Compute != nil && !atLeast(m.Attributes["compute_capability"], string(*g.Compute)) {
		return false
	}
	return g.Driver == nil || atLeast(m.Attributes["driver_version"], *g.Driver)
}

// asSold is how much of its nominal memory a GPU must report. Drivers keep some of it for
// themselves, and sizes that are sold differ by far more.
const asSold = 0.95

func (m *Model) hasMemory(gb float64) bool {
	q, ok := quantityOf(m.Attributes["memory"])
	return ok && q.of == "bytes" && q.n >= asSold*gb*1e9
}

// atLeast compares versions; a version that is not known is not enough.
func atLeast(have, least string) bool {
	v, err := version.NewVersion(have)
	if err != nil {
		return false
	}
	than, err := version.NewVersion(least)
	return err == nil && !v.LessThan(than)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return MatchesModel(p, name) })
}

// MatchesModel reports whether a pattern of a user matches the name of a model, in upper or lower
// case. A pattern with * matches the whole name, with or without the vendor before it: A100*
// matches "NVIDIA A100-SXM4-40GB". Another pattern matches if the name contains its words: A100
// matches that too, and not "NVIDIA RTX A1000". Parts of a GPU (MIG) match only patterns that
// contain MIG: who asks for an H100 does not mean a seventh of one.
func MatchesModel(pattern, name string) bool {
	p, n := strings.ToLower(strings.TrimSpace(pattern)), strings.ToLower(name)
	if strings.Contains(n, " mig ") && !strings.Contains(p, "mig") {
		return false
	}
	if strings.Contains(p, "*") {
		_, short, _ := strings.Cut(n, " ")
		return glob(p, n) || glob(p, short)
	}
	return strings.Contains(" "+words(n)+" ", " "+words(p)+" ")
}

// glob matches a pattern in which only * is special, and matches any text. Its time grows with the lengths of both: users
// write the patterns.
func glob(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !more {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for part, rest, more := strings.Cut(rest, "*"); more; part, rest, more = strings.Cut(rest, "*") {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, pattern[strings.LastIndex(pattern, "*")+1:])
}

// words are the words of a name: letters and digits, points between them, and a space between words.
func words(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
}

// A quantity is a number of bytes, hertz or watts, or of bytes in a second.
type quantity struct {
	n    float64
	unit float64 // how many of the base unit its unit is
	of   string  // "" for a number without a unit
}

// units are those that device plugins report.
var units = map[string]quantity{
	"B": {0, 1, "bytes"}, "kB": {0, 1e3, "bytes"}, "KB": {0, 1e3, "bytes"}, "MB": {0, 1e6, "bytes"}, "GB": {0, 1e9, "bytes"}, "TB": {0, 1e12, "bytes"},
	"KiB": {0, 1 << 10, "bytes"}, "MiB": {0, 1 << 20, "bytes"}, "GiB": {0, 1 << 30, "bytes"}, "TiB": {0, 1 << 40, "bytes"},
	"MHz": {0, 1e6, "hertz"}, "GHz": {0, 1e9, "hertz"}, "mW": {0, 1e-3, "watts"}, "W": {0, 1, "watts"}, "kW": {0, 1e3, "watts"},
	"kB/s": {0, 1e3, "bytes a second"}, "MB/s": {0, 1e6, "bytes a second"}, "GB/s": {0, 1e9, "bytes a second"},
	"KiB/s": {0, 1 << 10, "bytes a second"}, "MiB/s": {0, 1 << 20, "bytes a second"}, "GiB/s": {0, 1 << 30, "bytes a second"},
}

func quantityOf(text string) (quantity, bool) {
	number := strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsLetter(r) || r == '/' || r == ' ' })
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	unit := strings.TrimSpace(text[len(number):])
	if err != nil {
		return quantity{}, false
	}
	if unit == "" {
		return quantity{n, 1, ""}, true
	}
	q, known := units[unit]
	return quantity{n * q.unit, q.unit, q.of}, known
}

func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
