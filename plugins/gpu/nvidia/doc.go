// Package nvidia reads GPUs through NVIDIA's library (NVML).
//
// The library is part of the driver and is opened at its first use, so a program with this package
// starts on any machine, and Open returns an error without a driver. The package calls the library
// through cgo; built without cgo (nocgo.go), it only returns an error.
//
// NVML forgets a GPU that fell off the bus, and sees it again only after a shutdown and a new
// initialization. While a GPU is missing or the driver does not answer, each Scan initializes the
// library again (library.go); the event loop (events.go) waits for at most a second, so that it
// never blocks Scan for longer.
package nvidia
