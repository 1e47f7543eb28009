// Package record keeps what the plans of a pool were asked and what they decided, so that they can be asked again: the same questions to see that
// the planner decides the same, or with other settings to see what would have been.
//
// A plan depends only on its input (package sched). A Recorder compares the input of each plan with the input that it recorded last, and makes a
// Frame of what has changed (frame.go, recorder.go). A State adds up frames and so returns each input as it was (state.go). Frames are JSON of a
// hundred bytes or so: an attempt makes about three, when it is queued, when it begins and when it ends.
//
// Not recorded is what no decision depends on: the sentences that explain them, the ids of devices, the addresses of nodes. What changes in each
// cycle without a decision, such as expected ends, is recorded with the next frame only.
//
// A whole frame depends on none before it: the first one of each leader, and one whenever the changes since the last have grown larger than
// it. So a recording can be read from any whole frame on, and old frames can be deleted.
package record
