// Command again runs tests, and repeats those that failed once, alone, after everything else has ended.
//
//	again run -before build,vet -lane integration -lane ~package-tests,lint just   the parts of a whole run
//	again go -flags '-shuffle=on' ./master/...                                     go test, of one part
//	again pytest -- python -m pytest tests                                         pytest
//	again vitest -- node_modules/.bin/vitest run                                   vitest
//	again flaky -times 10                                                          the tests that once failed and then passed
//
// A test on real servers can miss a deadline because the machine was busy, and one such test must not cost
// a run of an hour. A defect fails twice. So each part writes its failures as records into the folder of
// the run (a session), and the run repeats them at its end: a test that fails again fails the run, a test
// that passes is printed as FLAKY and stays, with the output of its failure, in the user's cache.
//
// Only tests are repeated. Code that does not compile, linters and checks fail a run at once. A package
// whose process ended before its tests (a panic, a timeout, os.Exit) has no result for some of them, so it
// is repeated whole.
//
// The files: session.go has the records, gotest.go, pytest.go and vitest.go the runners, repeat.go the
// second try, run.go the parts with their times and the limit of a run, kept.go the folder in the cache.
package main
