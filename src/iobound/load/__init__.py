"""HTTP load: engines, schedules, histograms and the calibration of the generator itself."""
