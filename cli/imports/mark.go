package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A mark is what an import notes in the metadata of a run, below imported: how far its files were read, and the run of the trial that has
// reported it. A file that is not in the mark is read as a new one: what is reported twice changes nothing.
type mark struct {
	From  string   `json:"from"`
	Run   int      `json:"run"`
	Files []string `json:"files"` // "<bytes> <name>" of each file, sorted by name; of many files, several in a text, with line breaks between them

	ends map[string]int64 // up to which byte each file was read, by its name in the mark; nil: not made of Files yet
}

// Bounds of metadata: entries of a list, and bytes of a text, which has as many characters at most.
const (
	maxEntries = 100
	maxEntry   = 5000
)

// named is the name of a file in a mark, which is one line.
func named(file string) string {
	if strings.ContainsAny(file, "\r\n") {
		return strconv.Quote(file)
	}
	return file
}

// hashed is a name in a mark that has no place for the names themselves.
func hashed(file string) string {
	sum := sha256.Sum256([]byte(file))
	return "#" + hex.EncodeToString(sum[:8])
}

// read is up to which byte a file was read.
func (m *mark) read(file string) int64 {
	if m.ends == nil {
		m.ends = map[string]int64{}
		for _, entry := range m.Files {
			for line := range strings.SplitSeq(entry, "\n") {
				bytes, name, _ := strings.Cut(line, " ")
				m.ends[name], _ = strconv.ParseInt(bytes, 10, 64) // what somebody else has written counts as nothing read
			}
		}
	}
	if end, there := m.ends[named(file)]; there {
		return end
	}
	return m.ends[hashed(file)]
}

// covers reports whether everything that was read is in the mark.
func (m *mark) covers(r *run) bool {
	for name, end := range r.files {
		if end > m.read(name) {
			return false
		}
	}
	return true
}

// note puts into the mark how far files were read.
func (m *mark) note(r *run) {
	m.ends = nil
	if m.Files = listed(r.files, named); len(m.Files) > maxEntries {
		m.Files = listed(r.files, hashed) // of some 16,000 files; the oldest ones of more are read again
		m.Files = m.Files[max(0, len(m.Files)-maxEntries):]
	}
}

// listed are the lines of a mark in as many texts as they need; up to a hundred lines have a text each.
func listed(files map[string]int64, name func(string) string) (texts []string) {
	for _, file := range slices.Sorted(maps.Keys(files)) {
		line := strconv.FormatInt(files[file], 10) + " " + name(file)
		last := len(texts) - 1
		if len(files) > maxEntries && last >= 0 && len(texts[last])+1+len(line) <= maxEntry {
			texts[last] += "\n" + line
			continue
		}
		texts = append(texts, line)
	}
	return texts
}
