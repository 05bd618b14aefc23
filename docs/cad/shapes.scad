// Shapes that both prints share. All lengths in mm; every part lies as it is printed, its first layer at z = 0.

$fn = 64;
eps = 0.01;

// A horizontal bore along x that prints without support: round below, a roof of 45 degrees above.
module bore(d, length) {
    rotate([90, 0, 90]) linear_extrude(length, center = true) drop(d);
}

// Its outline: a circle with a cut-off tip above.
module drop(d) {
    circle(d = d);
    intersection() {
        rotate(45) square(d / 2);
        translate([-d / 2, 0]) square([d, d * 0.6]);
    }
}

// A plate with round corners, its lower left corner at the origin.
module plate(width, depth, height, radius) {
    translate([radius, radius, 0]) linear_extrude(height)
        offset(radius) square([width - 2 * radius, depth - 2 * radius]);
}

// Room for a hexagonal nut, standing on z = 0; `across` is its width across flats.
module nut(across, height) {
    cylinder(d = across / cos(30), h = height, $fn = 6);
}
