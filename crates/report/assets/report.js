"use strict"; // stands in for the built script
