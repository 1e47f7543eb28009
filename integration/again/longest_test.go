package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheLongestTestsAreNamed(t *testing.T) {
	var out bytes.Buffer
	r := &reading{ended: func() bool { return false }, to: &out, packages: map[string]*testedPackage{}}
	err := r.read(strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestShort","Elapsed":9}
{"Action":"pass","Package":"p","Test":"TestLong","Elapsed":11}
{"Action":"pass","Package":"p","Test":"TestLonger/sub","Elapsed":70}
{"Action":"fail","Package":"p","Test":"TestLonger","Elapsed":71.6}
{"Action":"fail","Package":"p","Elapsed":99}
`))
	out.Reset()
	r.printLongest()
	if want := "the longest tests:\n    72s p TestLonger\n    11s p TestLong\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
}
