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

func TestWhatAnotherCommitRunsIsNamed(t *testing.T) {
	var out bytes.Buffer
	r := &reading{ended: func() bool { return false }, to: &out, packages: map[string]*testedPackage{}}
	err := r.read(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestTurn","Output":"    a_test.go:9: not this commit's turn: every second commit runs it\n"}
{"Action":"skip","Package":"p","Test":"TestTurn","Elapsed":0}
{"Action":"output","Package":"p","Test":"TestSkipped","Output":"    a_test.go:12: there is no node\n"}
{"Action":"skip","Package":"p","Test":"TestSkipped","Elapsed":0}
{"Action":"pass","Package":"p","Elapsed":1}
`))
	out.Reset()
	r.printTurned()
	if want := "left to other commits and to the night: TestTurn\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
}
