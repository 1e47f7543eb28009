// Package spelling helps to write messages: it finds the known word that is most similar to an
// unknown one, for "did you mean …?", and formats a number with its noun.
package spelling

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// longest is the maximum length in bytes of a word for which suggestions are made.
const longest = 64

// Distance is the number of single-letter edits between two words; swapping two neighbouring
// letters is one edit.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var twoBack []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoBack[j-2]+1)
			}
		}
		twoBack, prev = prev, row
	}
	return prev[len(b)]
}

// Nearest is the candidate that is most similar to unknown, or "".
func Nearest(unknown string, candidates []string) string {
	candidates = slices.Clone(candidates)
	slices.Sort(candidates)
	low := strings.ToLower(unknown)
	normal := strings.ReplaceAll(low, "-", "_")
	for _, c := range candidates {
		if c == low || c == normal || strings.ReplaceAll(c, "_", "") == low {
			return c
		}
	}
	best, bestDistance := "", len(low)/3+1
	for _, c := range candidates {
		if d := Distance(normal, c); d < bestDistance || (d == bestDistance && best == "") {
			best, bestDistance = c, d
		}
	}
	if best != "" && bestDistance <= max(1, len(low)/3) {
		return best
	}
	if len(low) < 4 {
		return ""
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, normal+"_") || strings.HasPrefix(normal, c+"_") {
			return c
		}
	}
	for _, c := range candidates { // hyperparams
		if strings.HasPrefix(c, strings.TrimSuffix(normal, "s")) {
			return c
		}
	}
	for _, c := range candidates {
		if strings.HasSuffix(c, "_"+normal) {
			return c
		}
	}
	return ""
}

// Count formats a number and its noun: "1 file", "2 entries".
func Count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Snake turns isRaw into is_raw and b64Tgz into b64_tgz.
func Snake(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
