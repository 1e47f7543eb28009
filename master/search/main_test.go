package search

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws 30 random histories for each of the many configurations of a property, in place of rapid's 100: a configuration has properties in
// common with most others. just nightly draws 2,000 (recipe draws).
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			panic(err) // cannot happen: rapid has the flag
		}
	}
	os.Exit(m.Run())
}
