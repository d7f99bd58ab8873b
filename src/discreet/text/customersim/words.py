"""Word lists the fake customers are made of: common first names, surnames, street and town words, US states.

All are common knowledge and none belongs to a person; a customer's name is one first name and one surname put together
at random.
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _words(
    """
    Aaron Abigail Adela Adrian Agnes Aidan Aisha Alan Albert Alejandro Alexis Alfred Alicia Alison Alma Alvin Amelia
    Amir Amos Ana Andre Angela Anita Anton Antonia Archie Ariana Arlene Arnold Arthur Astrid Audrey August Aurora
    Barbara Barry Beatrice Belinda Benjamin Bernard Bertha Beverly Blanca Bonnie Boris Bradley Brent Bridget Bruce
    Caleb Calvin Camila Carla Carmen Caroline Cecilia Cedric Celeste Chester Clara Clarence Claudia Clifford Clyde
    Colin Conrad Cora Cordelia Craig Cristina Curtis Cynthia Cyrus Damian Daniela Darius Darlene Daryl Deborah Delia
    Denise Derek Desmond Diana Diego Dimitri Dolores Dominic Donna Doris Douglas Duane Dustin Dwight Edgar Edith
    Edmund Eduardo Eileen Elaine Eleanor Elias Elise Eliza Ella Elliot Elsa Elvira Emil Emma Enrique Erica Erik Ernest
    Esther Ethan Eugene Eunice Evan Evelyn Fabian Faye Felicia Felix Fernando Fiona Floyd Frances Franklin Freda
    Frederick Gabriel Gail Gary Gavin Genevieve Gerald Geraldine Gilbert Gina Gladys Glen Gloria Gordon Greta Gretchen
    Guadalupe Gustavo Gwendolyn Hannah Harold Harriet Harvey Hazel Hector Heidi Helen Henry Herbert Hilda Homer Howard
    Hubert Hugo Humphrey Ian Ida Imogen Ines Ingrid Irene Iris Irma Irving Isaac Isabel Ivan Jacqueline Jamal Janet
    Janice Jared Jasmine Javier Jerome Jill Joaquin Joel Jolene Jorge Josephine Joyce Juanita Judith Julian Karla
    Kathleen Keith Kelvin Kenneth Kirk Kristen Lamar Lara Larry Laurel Lauren Laverne Leah Leila Lena Leon Leonard
    Leroy Leslie Lester Lillian Lionel Lloyd Lorena Lorraine Louise Lucas Lucia Lucille Luther Lydia Mabel Malcolm
    Manuel Marcia Margot Marian Mario Marjorie Marlene Martha Marvin Matilda Maureen Maurice Maxine Melvin Mercedes
    Meredith Milton Minerva Miranda Miriam Mitchell Mona Monique Morris Muriel Myra Nadia Nadine Naomi Nathan Neil
    Nelson Nettie Nina Noah Noel Nora Norman Octavia Olga Olive Oliver Omar Opal Orlando Oscar Otis Owen Pablo Pamela
    Patty Pauline Pedro Percy Perla Philip Phyllis Priscilla Quentin Quincy Rachel Ralph Ramona Randall Raquel Regina
    Rhoda Ricardo Rita Roderick Rodney Roland Rosalind Rosario Rowena Roxanne Ruben Rufus Rupert Russell Ruth Sabina
    Sadie Salvador Samuel Santiago Selma Sergio Seth Sheila Sherman Shirley Sidney Simon Sonia Sophia Spencer Stanley
    Stella Stuart Susana Sybil Sylvester Sylvia Tabitha Tamara Teresa Terrence Thelma Theo Tobias Trevor Trisha
    Ulysses Una Ursula Valerie Vanessa Vera Vernon Veronica Victor Vincent Viola Violet Virgil Vivian Wallace Walter
    Wanda Warren Wendy Wesley Wilbur Wilfred Wilma Winifred Winston Xavier Yolanda Yvette Zachary Zelda Zoe
    """
)

SURNAMES = _words(
    """
    Abbott Acevedo Ackerman Acosta Addison Aguilar Albright Aldridge Alvarado Amaya Ames Andersen Applegate Archer
    Arellano Arnett Ashby Atkins Atwood Avery Ayala Babcock Bagley Bainbridge Baldwin Ballard Bancroft Banerjee
    Barajas Barclay Barlow Barrera Bartlett Bauer Beasley Beaumont Becker Bellamy Beltran Benitez Bergstrom Bickford
    Blackwell Blanchard Bledsoe Blevins Bolton Bowers Boyle Bradshaw Branson Brewster Briggs Bristow Brock Broderick
    Browning Bruner Buchanan Burnham Burris Byers Caldwell Calloway Camacho Cardenas Carlisle Carmichael Carver
    Castaneda Castillo Cavanaugh Chadwick Chambers Chandra Chaney Chavez Cheng Childress Choi Cisneros Clayton Cochran
    Coffey Colbert Coleman Colvin Conley Connelly Contreras Corbett Cortez Coughlin Covington Cowan Crandall Crenshaw
    Crocker Crosby Cuevas Cummings Dalton Daugherty Davenport Davila Dawkins Deleon Dempsey Desai Dickerson Dillard
    Dixon Dobbs Donahue Donovan Dorsey Drummond Duarte Dubois Dudley Duffy Dunlap Durham Eaton Eckert Egan Eldridge
    Ellington Elmore Emerson Engel Escobar Esparza Espinoza Everett Fairchild Farley Faulkner Fenton Figueroa
    Fitzgerald Flanagan Fletcher Foley Fontaine Forsythe Fowler Frazier Friedman Fuentes Fulton Gaines Galindo
    Gallagher Gallegos Galloway Garrison Gentry Gibbons Gilmore Giordano Gleason Glover Godfrey Goldstein Goodwin
    Graves Greco Greenberg Griffith Grimes Grossman Guerrero Gupta Guthrie Guzman Hadley Haines Halloran Hampton
    Hancock Hanley Hansen Hargrove Harmon Hartley Hastings Hatfield Hawley Healy Hendrix Hensley Herrera Hickman
    Higgins Hinton Hobbs Hodge Hoffman Holbrook Holcomb Hollis Holloway Hopper Horvath Houston Huang Hubbard Huerta
    Huffman Hurley Hutchins Hyde Ibrahim Ingram Irwin Ivanov Jacobson Jarvis Jaworski Jefferson Jimenez Joyner Juarez
    Kaminski Kaplan Katz Kearney Keating Kemp Kendrick Keough Kessler Kimball Kincaid Kirkland Knapp Knowles Kowalski
    Kramer Kruger Kumar Lachance Lambert Landry Langley Larkin Larson Latham Lawler Leblanc Lehman Lennox Levine
    Lindgren Lindsey Livingston Lockhart Lomax Lombardi Lovell Lowery Lucero Luna Lyons Macias Mahoney Maldonado
    Malone Mancini Marlowe Marquez Marsh Massey Matheson Maxwell Maynard Mcadams Mcbride Mccall Mccarthy Mcclain
    Mcconnell Mcdaniel Mcfarland Mcguire Mckay Mckenna Mclaughlin Mcleod Mcmillan Mcneil Meadows Medrano Mehta Mendez
    Mercado Merrill Metcalf Meyers Middleton Milligan Miranda Monroe Montoya Mooney Moreau Moreland Morrow Mosley
    Mueller Mulligan Munoz Murdock Nakamura Napier Nash Nava Neely Neville Newell Nichols Nielsen Nixon Norwood Novak
    Nunez Oakley Ocampo Odom Ogden Olsen Oneal Ontiveros Orozco Osborne Osgood Ott Overton Pacheco Padilla Palumbo
    Pappas Parrish Patel Paxton Pemberton Pena Pennington Peralta Petersen Pettit Phelps Pickett Pineda Pittman
    Plummer Pollard Poole Portillo Prescott Pritchard Proctor Pruitt Quigley Quinlan Quintero Radcliffe Rafferty
    Ralston Rasmussen Redmond Reilly Rendon Renner Reyes Rhodes Richter Ridley Riggs Rinaldi Ritchie Rivas Robles
    Rockwell Rollins Romano Rosales Roth Rowland Rucker Rudd Rutherford Saenz Salazar Salgado Sampson Sanborn Sandoval
    Sawyer Saxton Schaefer Schmidt Schultz Schwartz Seymour Shapiro Shelby Shepherd Sherwood Shields Silva Simmons
    Singh Skaggs Slater Sloan Snider Solomon Sorensen Soto Spalding Sparks Spence Stafford Stanton Starr Steele
    Stephens Stokes Stratton Sullivan Sutherland Swanson Swenson Talbot Tanaka Tatum Tennant Thacker Thornhill Thurman
    Tidwell Tillman Toledo Torrence Townsend Travers Trevino Trujillo Tucker Tuttle Underwood Upton Urbina Valdez
    Valentine Vance Vargas Vasquez Vaughan Velasco Vickers Villarreal Vogel Wadsworth Waggoner Walden Wallis Walsh
    Warner Waters Watkins Weaver Webster Weiss Weldon Westbrook Whalen Wheeler Whitaker Whitfield Whitlock Wickham
    Wiggins Wilcox Wilder Wilkerson Windham Winslow Winters Wolfe Woodard Woodruff Wooten Wyatt Yamamoto Yates Yoder
    Zamora Zapata Zhang Ziegler Zimmerman
    """
)

STREET_WORDS = _words(
    """
    Acorn Alder Amber Apple Aspen Bayberry Beacon Birch Bluebird Boulder Bramble Briar Canal Canyon Cardinal Cedar
    Cherry Chestnut Clover Cobblestone Copper Cottonwood Creekside Cypress Dogwood Eagle Elderberry Elm Evergreen
    Falcon Fern Foxglove Garnet Granite Hawthorn Heather Heron Hickory Highland Hollow Ivy Jasper Juniper Lakeview
    Larch Lavender Liberty Lilac Lincoln Linden Locust Magnolia Maple Meadow Mill Mulberry Myrtle Oak Orchard Osprey
    Pebble Pecan Pheasant Pine Poplar Prairie Quail Quarry Raven Redwood Ridge River Rosewood Sage Sequoia Silver
    Spruce Summit Sycamore Teal Thistle Timber Tulip Valley Walnut Washington Willow
    """
)

STREET_KINDS = _words("Street Avenue Road Lane Drive Court Boulevard Place Terrace Trail Way Circle Parkway")

TOWN_STEMS = _words(
    """
    Ash Bell Birch Brook Carver Cedar Clay Cole Cran Dal Elk Fair Fox Glen Green Harper Haver Hazel Kings Lake Lock
    Maple Marsh Mill New North Oak Pem Port Red River Rock Rose Sand Silver Stan Stone Summer Thorn Wake West White
    Winter Wood
    """
)

TOWN_ENDINGS = _words("borough bridge burg dale field ford haven land mont port side stead ton town view ville wick")

TOWN_PREFIXES = ("North ", "South ", "East ", "West ", "New ", "Lake ", "Fort ", "Mount ")

STATES = _words(
    """
    AK AL AR AZ CA CO CT DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR PA
    RI SC SD TN TX UT VA VT WA WI WV WY
    """
)
