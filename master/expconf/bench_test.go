package expconf

import (
	"os"
	"testing"
)

// The document of an ordinary experiment, and the longest of the published ones.
func benchDocuments(b *testing.B) map[string][]byte {
	b.Helper()
	docs := map[string][]byte{}
	for _, name := range []string{"const", "adaptive", "coreweave-3"} {
		src, err := os.ReadFile("testdata/seeds/" + name + ".yaml")
		if err != nil {
			b.Fatal(err)
		}
		docs[name] = src
	}
	return docs
}

// BenchmarkParse reads what a user wrote.
func BenchmarkParse(b *testing.B) {
	for name, src := range benchDocuments(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Parse("x.yaml", src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkComplete merges, fills in, checks and stores what was read.
func BenchmarkComplete(b *testing.B) {
	for name, src := range benchDocuments(b) {
		raw, _, err := Parse("x.yaml", src)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c, err := Complete(raw, cluster())
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Validate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStored reads a complete configuration back, as the control loop does.
func BenchmarkStored(b *testing.B) {
	for name, src := range benchDocuments(b) {
		raw, _, err := Parse("x.yaml", src)
		if err != nil {
			b.Fatal(err)
		}
		c, err := Complete(raw, cluster())
		if err != nil {
			b.Fatal(err)
		}
		stored, err := c.JSON()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := ParseConfigJSON(stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
