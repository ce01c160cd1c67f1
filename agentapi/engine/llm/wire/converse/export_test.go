package converse

// SignFor lets the tests sign for the service of AWS's own examples.
var SignFor = signFor
