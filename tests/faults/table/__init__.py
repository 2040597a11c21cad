"""The fault table: lines of faults on real servers, and the page of what was lost and doubled."""
