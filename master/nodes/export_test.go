package nodes

// For tests, which are in another package because they use store, which imports this one.
const MeasuredFor = measuredFor

var ByDevice = byDevice
