// Package nvidia knows GPUs from NVIDIA's library (NVML).
//
// The library is part of the driver and opened when it is first used, so a
// program with this package starts on any machine, and Open says what is missing
// where there is no driver. It is reached through cgo: built without (nocgo.go),
// the package only says so.
//
// NVML forgets a GPU that fell off the bus, and sees it again only after it was
// shut down and begun anew. While a GPU is missing or the driver does not answer,
// each Scan does that (library.go); the event loop (events.go) waits for a second
// at most, so that it is never in the way for longer.
package nvidia
